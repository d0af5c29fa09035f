/** The policy engine and the teacher: all that the rest of the system knows about a model. */
import type { Sample, TopK } from '../core/policy.ts';

export interface SampleOptions {
  readonly maxTokens: number;
  /** 0 is greedy. Recorded log-probabilities are always at temperature 1. */
  readonly temperature: number;
  readonly stopIds: readonly number[];
  /** Decides this call's tokens alone: what else is in the batch must not matter. */
  readonly seed: string;
  readonly signal?: AbortSignal;
}

export interface Completion {
  /** Includes the stop token when one was sampled. */
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly number[];
  readonly stopReason: 'stop' | 'length';
  readonly policyVersion: number;
}

export interface LossOptions {
  readonly clipLow: number;
  readonly clipHigh: number;
  /** Truncation C of the importance weight for engines whose sampler and trainer differ. */
  readonly importanceCap?: number;
  readonly klArm: 'tail' | 'renormalised' | 'truncated';
  readonly entropyBonus: number;
}

export interface OptimiserOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  readonly maxGradNorm: number;
}

export interface StepReport {
  readonly loss: number;
  readonly gradNorm: number;
  readonly trainedTokens: number;
  /** `skipped`: nothing to train, or loss or gradient was not finite; weights are as before. */
  readonly outcome: 'updated' | 'skipped-empty' | 'skipped-non-finite';
  /** Means over trained tokens, e.g. `entropy`, `kl`, `studentMassOnTopK`, `clipShare`, `ratioMean`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The prompt does not fit in the context with at least one token to sample: a policy error, never a silent cut. */
export class ContextOverflowError extends Error {
  override readonly name = 'ContextOverflowError';
}

export interface PolicyEngine extends AsyncDisposable {
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly policyVersion: number;
  /** Concurrent calls are batched. Throws `ContextOverflowError`. */
  sample(promptIds: readonly number[], options: SampleOptions): Promise<Completion>;
  /** log p(tokenIds[i] | tokenIds[<i]) for i in [from, length). */
  score(tokenIds: readonly number[], from: number): Promise<readonly number[]>;
  /** One forward-backward over all samples (in micro-batches) and one optimiser update. */
  step(
    samples: readonly Sample[],
    loss: LossOptions,
    optimiser: OptimiserOptions,
  ): Promise<StepReport>;
  /** Makes the trained weights answer samples; returns the new policy version. */
  publish(): Promise<number>;
  /** Writes a Hugging Face directory, plus optimiser state. Atomic: a killed save leaves the old one. */
  save(directory: string): Promise<void>;
}

/** Separate from the student's engine. */
export interface Teacher {
  readonly vocabularySize: number;
  /**
   * Top-k at each response position i in [from, length): the distribution that predicts tokenIds[i]; `undefined` where
   * there is none. A `FaultError` says that the whole segment has none.
   */
  topK(
    tokenIds: readonly number[],
    from: number,
    k: number,
  ): Promise<readonly (TopK | undefined)[]>;
}
