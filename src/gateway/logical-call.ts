/** One logical call: however often a provider SDK re-sends it, it is sampled and recorded once. */
import type { Fault } from '../core/outcome.ts';
import type { Call } from '../core/trace.ts';
import { Broadcast } from './broadcast.ts';

export interface LogicalCall {
  readonly id: string;
  readonly purpose: Call['purpose'];
  readonly broadcast: Broadcast;
  readonly body: Buffer;
  /** Absent while in flight. */
  call: Call | undefined;
  taken: boolean;
}

/** Handed-over calls that a retry still finds. */
const JOINABLE = 64;

export interface UnansweredCall {
  readonly purpose: Call['purpose'];
  readonly stage: string;
  readonly outcome: Fault;
  readonly durationMs: number;
}

/** Answers of one slot by request body, so that a re-sent request finds the call it belongs to. */
export class CallLedger {
  readonly #all: LogicalCall[] = [];
  /** By length of the request's body: comparing bytes is cheaper than hashing them. */
  readonly #byLength = new Map<number, LogicalCall[]>();
  readonly #handedOver: LogicalCall[] = [];
  #arrived = 0;

  /**
   * The call that a request with this body repeats. An SDK that says it is retrying repeats the latest one; without
   * that word a request repeats only a call whose every connection was cut. Otherwise it is a new call.
   */
  find(body: Buffer, saysRetry: boolean): LogicalCall | undefined {
    const sameLength = this.#byLength.get(body.byteLength) ?? [];
    const cut = sameLength.findLast(
      (logical) => logical.broadcast.undelivered && logical.body.equals(body),
    );
    if (cut !== undefined || !saysRetry) return cut;
    return sameLength.findLast((logical) => logical.body.equals(body));
  }

  open(body: Buffer, purpose: Call['purpose']): LogicalCall {
    const logical: LogicalCall = {
      id: String(this.#arrived++),
      purpose,
      broadcast: new Broadcast(),
      body,
      call: undefined,
      taken: false,
    };
    this.#all.push(logical);
    const sameLength = this.#byLength.get(body.byteLength);
    if (sameLength === undefined) this.#byLength.set(body.byteLength, [logical]);
    else sameLength.push(logical);
    return logical;
  }

  /** Takes one record by itself; it stays joinable among the latest that were. */
  handOver(logical: LogicalCall): void {
    logical.taken = true;
    this.#all.splice(this.#all.indexOf(logical), 1);
    this.#handedOver.push(logical);
    const oldest = this.#handedOver.length > JOINABLE ? this.#handedOver.shift() : undefined;
    if (oldest !== undefined) this.#forget(oldest);
  }

  #forget(logical: LogicalCall): void {
    const length = logical.body.byteLength;
    const kept = (this.#byLength.get(length) ?? []).filter((other) => other !== logical);
    if (kept.length === 0) this.#byLength.delete(length);
    else this.#byLength.set(length, kept);
  }

  /** What failed before or beside the writer, such as an embedding, has no answer, yet must not go unseen. */
  recordFault({ purpose, stage, outcome, durationMs }: UnansweredCall): LogicalCall {
    const id = String(this.#arrived++);
    const record = { id, purpose, stage, messages: [], text: '' };
    const call: Call = { ...record, stopReason: 'error', outcome, durationMs };
    const unanswered = { broadcast: new Broadcast(), body: Buffer.alloc(0) };
    const logical = { id, purpose, ...unanswered, call, taken: false };
    this.#all.push(logical);
    return logical;
  }

  /** Records since the last take. They stay joinable until the next one. */
  take(): Call[] {
    const fresh = this.#all.filter(({ taken }) => !taken);
    const calls = fresh.map(recordOf);
    this.#forgetTaken(fresh);
    for (const logical of fresh) logical.taken = true;
    return calls;
  }

  #forgetTaken(fresh: readonly LogicalCall[]): void {
    this.#all.splice(0, this.#all.length, ...fresh);
    for (const [length, same] of this.#byLength) {
      const kept = same.filter(({ taken }) => !taken);
      if (kept.length === 0) this.#byLength.delete(length);
      else this.#byLength.set(length, kept);
    }
  }
}

/** The record as it stands now: an answer that nobody received is a fault. */
export function recordOf({ id, call, broadcast }: LogicalCall): Call {
  if (call === undefined) throw new Error(`call ${id} is still in flight`);
  if (!broadcast.undelivered) return call;
  const message = 'the client closed its connection and never came back for the answer';
  return { ...call, outcome: { kind: 'fault', boundary: 'gateway', message } };
}
