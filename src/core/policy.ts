/** What training hands to an engine: token ids, where training starts, and the loss on each trained token. */

/** The teacher's opinion of one response position: its top k ids with log-probabilities at temperature 1. */
export interface TopK {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
}

interface SampleTokens {
  /** The whole segment, prompt and response; positions start at 0; nothing is packed with another segment. */
  readonly tokenIds: readonly number[];
  /** Index of the first response token; tokens from here on are trained. */
  readonly from: number;
}

/** definitions §8. `weight` multiplies the mean over the segment's response tokens (loss mass). */
export interface PolicyGradientSample extends SampleTokens {
  readonly kind: 'policy-gradient';
  readonly logprobs_N: readonly number[];
  readonly advantage: number;
  readonly weight: number;
}

/** definitions §7. A position without a finite teacher log-probability has `undefined` and is masked. */
export interface DistillationSample extends SampleTokens {
  readonly kind: 'distillation';
  readonly teacher_N: readonly (TopK | undefined)[];
}

/** Supervised pretraining: weighted cross-entropy on every token from `from`. */
export interface CrossEntropySample extends SampleTokens {
  readonly kind: 'cross-entropy';
  readonly weights_N: readonly number[];
}

export type Sample = PolicyGradientSample | DistillationSample | CrossEntropySample;
