/** All that the rest of the system knows about a memory framework. */
import type { Listing } from '../core/bank.ts';
import type { Endpoint } from '../core/chat.ts';
import type { Chunk, Scene } from '../core/conversation.ts';
import type { CheckedCall, Stage, WriteEffect } from '../core/stage.ts';

export interface OpenOptions {
  /** The bank's own directory; created when absent. One open bank a directory. */
  readonly dir: string;
  readonly model: Endpoint;
  readonly embeddings: Endpoint & { readonly dimensions: number };
  /** ISO time that the framework sees as now until the first write. */
  readonly now: string;
  readonly signal?: AbortSignal;
}

export interface Harness extends AsyncDisposable {
  /** Configuration name as in runs and reports: `mem0`, `hy-memory:chat`, … */
  readonly configuration: string;
  /** Framework package and version, e.g. `mem0ai@3.3.1`. */
  readonly version: string;
  readonly stages: readonly Stage[];
  /** Evaluated, never trained on, unless told twice. */
  readonly heldOut: boolean;
  /** Stages a write must show at least once, so that a write which never reached the model is a fault. */
  readonly requiredStages: readonly string[];
  /** Chunks of another scene are not for this configuration: `hy-memory:working` without a tool turn silently runs chat. */
  readonly scenes: readonly Scene[];
  /** Names of what this framework does to a bank without being asked (its documented deduplication, say). */
  readonly sideEffects: readonly string[];
  /**
   * What a write as a whole asks for, from its well-formed calls in order; absent where every call's operations stand for
   * themselves. A framework of several stages stores what the last of them decides. Pure.
   */
  effectOf?(calls: readonly CheckedCall[]): WriteEffect;
  open(options: OpenOptions): Promise<Bank>;
}

/** A change that no answer asked for, read from the store. One of a name that the harness does not declare is a fault. */
export interface SideEffect {
  readonly name: string;
  /** Texts that left the listing, and texts that joined it. */
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

export interface WriteReport {
  readonly sideEffects: readonly SideEffect[];
}

/**
 * An open bank. Operations on one bank are serial, the caller awaits each; only retrievals may overlap one another.
 * Any failure is a `FaultError`. A write may reject because of a malformed answer: the gateway's record of the calls
 * says whether it was the policy's doing, and comes before the fault.
 */
export interface Bank extends AsyncDisposable {
  /** Resolves when the memory has settled: no background write outlives it. The framework sees `chunk.at` as now. */
  write(chunk: Chunk): Promise<WriteReport>;
  /** Complete, or throws: the count is checked in the store itself. */
  list(): Promise<Listing>;
  /** The block a reader would see. Must leave the bank as it was. */
  retrieve(question: string): Promise<string>;
  /** Identity of everything that can influence a later write or read; independent of random ids and of times. */
  contentHash(): Promise<string>;
  /** After it resolves the directory may be copied: that is a fork. */
  close(): Promise<void>;
}
