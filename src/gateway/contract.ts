/** The one door between a framework and the writer: private slots, each call recorded once. */
import type { ChatMessage, Endpoint } from '../core/chat.ts';
import type { Stage } from '../core/stage.ts';
import type { Call } from '../core/trace.ts';
import type { PolicyEngine } from '../engine/contract.ts';
import type { PromptTemplate } from '../tokens/contract.ts';

/** Who answers a slot's chat calls. */
export type Writer =
  | {
      readonly kind: 'render';
      readonly engine: PolicyEngine;
      readonly template: PromptTemplate;
      readonly maxTokens: number;
      readonly temperature: number;
    }
  | { readonly kind: 'relay'; readonly endpoint: Endpoint; readonly timeoutMs: number }
  | {
      /** Control banks and tests: a pure function of the recognised request. */
      readonly kind: 'scripted';
      readonly reply: (stage: Stage, messages: readonly ChatMessage[]) => string;
    };

export interface SlotOptions {
  readonly writer: Writer;
  /**
   * A request that is not of exactly one of these fails closed. Empty is for a relay in production only: nothing is
   * recognised or checked, and calls carry the stage `unchecked`.
   */
  readonly stages: readonly Stage[];
  /** Root of this slot's sampling seeds; a call's seed is (seed, purpose, prompt ids, how often they came before). */
  readonly seed: string;
  /**
   * For a slot that never rests, as in production: each record is handed over when it is whole, and `take` has none.
   * An SDK's retry still finds the latest calls. What it throws is a bug.
   */
  readonly onCall?: (call: Call) => void;
}

/** One rollout's private base URL and bearer key. Disposing closes it: later calls are refused. */
export interface Slot extends AsyncDisposable {
  readonly model: Endpoint;
  readonly embeddings: Endpoint & { readonly dimensions: number };
  /** What calls that arrive from now on are for. */
  setPurpose(purpose: Call['purpose']): void;
  /**
   * Calls recorded since the last take, in order of arrival. Throws while one is still in flight. A call whose answer
   * never reached the framework is a fault of boundary `gateway`; a failed embedding is a call of stage `embeddings`.
   */
  take(): readonly Call[];
}

/** A request that was turned away at the door. It reached no writer and no slot's record. */
export interface Refusal {
  readonly reason: 'unknown-slot' | 'closed-slot' | 'missing-key' | 'wrong-key' | 'unknown-route';
  readonly method: string;
  /** Route with the slot id left out. */
  readonly route: string;
}

export interface Gateway extends AsyncDisposable {
  readonly baseUrl: string;
  /** Every refusal counts; the details of the last hundred are kept. */
  readonly refusals: { readonly count: number; readonly recent: readonly Refusal[] };
  openSlot(options: SlotOptions): Slot;
}
