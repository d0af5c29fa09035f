/** One rollout's private door: its identity, its record, and its end. */
import { setMaxListeners } from 'node:events';
import type { Endpoint } from '../core/chat.ts';
import type { Call } from '../core/trace.ts';
import { sha256 } from '../lib/hash.ts';
import type { Slot, SlotOptions } from './contract.ts';
import { CallLedger, type LogicalCall, recordOf, type UnansweredCall } from './logical-call.ts';

export interface SlotIdentity {
  readonly id: string;
  readonly key: string;
  readonly model: Endpoint;
  readonly embeddings: Endpoint & { readonly dimensions: number };
}

export class GatewaySlot implements Slot {
  readonly model: Endpoint;
  readonly embeddings: Endpoint & { readonly dimensions: number };
  readonly options: SlotOptions;
  readonly ledger = new CallLedger();
  readonly #closing = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #seen = new Map<string, number>();
  readonly #onClose: () => void;
  #purpose: Call['purpose'] = 'write';

  constructor(identity: SlotIdentity, options: SlotOptions, onClose: () => void) {
    this.model = identity.model;
    this.embeddings = identity.embeddings;
    this.options = options;
    this.#onClose = onClose;
    // One listener for each call in flight is no leak.
    setMaxListeners(0, this.#closing.signal);
  }

  get purpose(): Call['purpose'] {
    return this.#purpose;
  }

  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  setPurpose(purpose: Call['purpose']): void {
    this.#purpose = purpose;
  }

  take(): readonly Call[] {
    if (this.#inFlight.size > 0) {
      throw new Error(`${this.#inFlight.size} requests of this slot are still in flight`);
    }
    return this.ledger.take();
  }

  /** A call's record, once and whole. */
  record(logical: LogicalCall, call: Call): void {
    logical.call = call;
    if (this.options.onCall === undefined) return;
    this.ledger.handOver(logical);
    this.options.onCall(recordOf(logical));
  }

  recordFault(unanswered: UnansweredCall): void {
    const logical = this.ledger.recordFault(unanswered);
    if (logical.call !== undefined) this.record(logical, logical.call);
  }

  /** Counts work as in flight until it settles; what it rejects with is its caller's to handle. */
  track<T>(work: Promise<T>): Promise<T> {
    const done = (): void => {
      this.#inFlight.delete(settled);
    };
    const settled: Promise<void> = work.then(done, done);
    this.#inFlight.add(settled);
    return work;
  }

  /** Depends on what was asked and how often before, never on timing or on other prompts in flight. */
  seedFor(purpose: Call['purpose'], promptIds: readonly number[]): string {
    const prompt = sha256(new Uint8Array(Int32Array.from(promptIds).buffer));
    const key = `${purpose}/${prompt}`;
    const before = this.#seen.get(key);
    const occurrence = before === undefined ? 0 : before + 1;
    this.#seen.set(key, occurrence);
    return `${this.options.seed}/${key}/${occurrence}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#onClose();
    this.#closing.abort(new Error('the slot was closed'));
    await Promise.all(this.#inFlight);
  }
}
