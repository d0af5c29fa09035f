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
  readonly stages: readonly Stage[];
  /** Root of this slot's sampling seeds; a call's seed is (seed, call id). */
  readonly seed: string;
}

/** One rollout's private base URL and bearer key. Disposing closes it: later calls are refused. */
export interface Slot extends AsyncDisposable {
  readonly model: Endpoint;
  readonly embeddings: Endpoint & { readonly dimensions: number };
  /** What calls that arrive from now on are for. */
  setPurpose(purpose: Call['purpose']): void;
  /** Calls recorded since the last take, in order of arrival. Throws while one is still in flight. */
  take(): readonly Call[];
}

export interface Gateway extends AsyncDisposable {
  readonly baseUrl: string;
  openSlot(options: SlotOptions): Slot;
}
