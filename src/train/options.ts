/** Every knob of the two loops with its default; what a run used is in its manifest. */
import { z } from 'zod';
import { creditOptionsSchema, creditPresets } from '../credit/options.ts';
import { rewardOptionsSchema, rewardPresets } from '../reward/options.ts';
import { MAX_CHUNK_RETRIES } from '../rollout/rollout.ts';

export const presetSchema = z.enum(['recommended', 'article']);

const optimiserOptionsSchema = z.strictObject({
  /** Constant. A small model needs more than the article's 1e-6. */
  learningRate: z.number().positive().default(1e-6),
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.95),
  epsilon: z.number().positive().default(1e-8),
  weightDecay: z.number().nonnegative().default(0),
  maxGradNorm: z.number().positive().default(1),
});

/** definitions §5: what a step may lose to the platform before it is aborted without an update. */
export const faultOptionsSchema = z.strictObject({
  maxItemShare: z.number().min(0).max(1).default(0.05),
  maxRolloutShare: z.number().min(0).max(1).default(0.1),
  /** Aborted steps in a row that stop the run. */
  maxAbortedSteps: z.int().positive().default(3),
  /** How often a chunk is tried again after a platform fault before its rollout is the fault. */
  chunkRetries: z.int().nonnegative().default(MAX_CHUNK_RETRIES),
  /** How often a void window is tried again before it is skipped and counted. */
  windowRetries: z.int().nonnegative().default(2),
});
export type FaultOptions = z.infer<typeof faultOptionsSchema>;

const checkpointOptionsSchema = z.strictObject({
  /** Steps from one checkpoint to the next; a resume redoes what came after the last. */
  every: z.int().positive().default(1),
  /** Newest ones that stay. */
  keep: z.int().positive().default(2),
  /** Steps whose checkpoint stays for good. */
  named: z.array(z.int().nonnegative()).default([]),
});

const loopFields = {
  preset: presetSchema.default('recommended'),
  seed: z.string().min(1).default('0'),
  steps: z.int().positive(),
  /** Rows (window, configuration, sequence) of one step. */
  rowsPerStep: z.int().positive().default(4),
  configurations: z.array(z.string().min(1)).min(1),
  /** Held-out harnesses are trained on only when told twice: listed above, and named here again. */
  allowHeldOut: z.array(z.string().min(1)).default([]),
  /** Banks open at a time. */
  concurrency: z.int().positive().default(8),
  optimiser: optimiserOptionsSchema.default(optimiserOptionsSchema.parse({})),
  faults: faultOptionsSchema.default(faultOptionsSchema.parse({})),
  checkpoint: checkpointOptionsSchema.default(checkpointOptionsSchema.parse({})),
};

export const rlOptionsSchema = z.strictObject({
  ...loopFields,
  loss: z
    .strictObject({
      clipLow: z.number().positive().default(0.2),
      clipHigh: z.number().positive().default(0.2),
      importanceCap: z.number().positive().exactOptional(),
    })
    .default({ clipLow: 0.2, clipHigh: 0.2 }),
  reward: rewardOptionsSchema.default(rewardPresets.recommended),
  credit: creditOptionsSchema.default(creditPresets.recommended),
});
export type RlOptions = z.infer<typeof rlOptionsSchema>;

export const opdOptionsSchema = z.strictObject({
  ...loopFields,
  rolloutsPerRow: z.int().positive().default(2),
  /** Candidates the teacher names at each position. */
  topK: z.int().positive().default(50),
  klArm: z.enum(['tail', 'renormalised', 'truncated']).default('tail'),
  entropyBonus: z.number().nonnegative().default(0.005),
  /** Share of response positions that the teacher may leave without an answer. */
  maxTeacherFaultShare: z.number().min(0).max(1).default(0.01),
});
export type OpdOptions = z.infer<typeof opdOptionsSchema>;
export type LoopOptions = Pick<RlOptions, keyof typeof loopFields>;

/** A preset's values stand wherever the input says nothing. */
export function parseRlOptions(input: z.input<typeof rlOptionsSchema>): RlOptions {
  const preset = presetSchema.parse(input.preset ?? 'recommended');
  return rlOptionsSchema.parse({
    ...input,
    reward: { ...rewardPresets[preset], ...input.reward },
    credit: { ...creditPresets[preset], ...input.credit },
  });
}
