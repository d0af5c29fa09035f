/** What the loops are given: the world outside them, each behind its contract, and the events they emit. */
import type { WindowArtifact } from '../core/exam.ts';
import type { Fault } from '../core/outcome.ts';
import type { PolicyEngine, Teacher } from '../engine/contract.ts';
import type { ExamCounts } from '../exam/cache.ts';
import type { Examiners } from '../exam/sit.ts';
import type { Gateway, Writer } from '../gateway/contract.ts';
import type { Harness } from '../harness/contract.ts';
import type { StepRecord } from '../store/schema.ts';

export interface EngineStart {
  /** A Hugging Face directory; a checkpoint of this run also holds the optimiser's state. */
  readonly directory: string;
  /** `fresh`: no moments and policy version 0, whatever the directory holds. */
  readonly state: 'fresh' | 'resumed';
}

export interface TrainParts {
  readonly artifacts: readonly WindowArtifact[];
  /** By configuration name. */
  readonly harnesses: ReadonlyMap<string, Harness>;
  readonly gateway: Gateway;
  readonly startWeights: string;
  readonly openEngine: (start: EngineStart) => Promise<PolicyEngine>;
  /** The writer that samples from this engine. */
  readonly createWriter: (engine: PolicyEngine) => Writer;
  /** |x| under the run's pinned tokenizer. */
  readonly countTokens: (text: string) => number;
  /** Banks in the making; best in memory. Emptied step by step. */
  readonly workDirectory: string;
  /** Aborting ends the run after the writes in hand; the step they belong to is redone by a resume. */
  readonly signal?: AbortSignal;
  readonly onEvent: (event: TrainEvent) => void;
  /** ISO time for events only. */
  readonly now: () => string;
}

export interface RlParts extends TrainParts {
  readonly examiners: Examiners;
}

export interface OpdParts extends TrainParts {
  readonly teacher: Teacher;
  readonly tokenizerHashes: { readonly student: string; readonly teacher: string };
}

export type TrainEvent =
  | { readonly type: 'opened'; readonly nextStep: number; readonly steps: number }
  | { readonly type: 'step-started'; readonly step: number; readonly rows: number }
  | {
      readonly type: 'row-finished';
      readonly step: number;
      readonly configuration: string;
      readonly windowId: string;
      readonly faults: number;
    }
  | {
      /** A platform fault whose chunk is tried again. */
      readonly type: 'write-retried';
      readonly step: number;
      readonly configuration: string;
      readonly windowId: string;
      readonly index: number;
      readonly fault: Fault;
    }
  | { readonly type: 'alarm'; readonly step: number; readonly message: string }
  | {
      readonly type: 'step-committed';
      readonly record: StepRecord;
      /** Answers and grades needed and saved since this process opened the run: no part of the run's identity. */
      readonly exam?: ExamCounts;
    }
  | { readonly type: 'stopped'; readonly nextStep: number }
  | { readonly type: 'finished'; readonly steps: number };

/** How a loop ended. A stopped run goes on where it is when it is opened again. */
export type TrainEnd =
  | { readonly kind: 'finished'; readonly checkpoint: string }
  | { readonly kind: 'stopped'; readonly nextStep: number };
