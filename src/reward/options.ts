/** Every constant of the chunk score (definitions §4-5) as a configuration field with its default. */
import { z } from 'zod';

export const growthOptionsSchema = z.strictObject({
  /** Growth per chunk token that is free: τ. */
  freeRatio: z.number().nonnegative().default(0.5),
  /** Growth per chunk token that costs the full penalty: x_full. */
  fullRatio: z.number().positive().default(1),
  /** Steepness k of the rise; 0 is the linear ramp. */
  steepness: z.number().nonnegative().default(3),
  /** A chunk counts as at least this long. */
  minChunkTokens: z.number().positive().default(64),
});
export type GrowthOptions = z.infer<typeof growthOptionsSchema>;

export const rewardOptionsSchema = z.strictObject({
  /**
   * `broadcast-orm`: every chunk gets the mean rubric score. `no-trap`: prm without traps. `no-penalty`: growth is free.
   * The arm `window` is the credit's: an arm that a stage would not act on is refused there.
   */
  arm: z.enum(['chunk', 'broadcast-orm', 'no-trap', 'no-penalty']).default('chunk'),
  prmWeight: z.number().nonnegative().default(1),
  ormWeight: z.number().nonnegative().default(2),
  penWeight: z.number().nonnegative().default(0.3),
  /** Charged on the share of recovered malformed calls, and below the worst score for an unrecovered one. */
  malformedCost: z.number().nonnegative().default(0.2),
  /** A rollout with more than this share of a window's item faults is itself the fault. */
  rolloutFaultShare: z.number().min(0).max(1).default(0.5),
  growth: growthOptionsSchema.default(growthOptionsSchema.parse({})),
});
export type RewardOptions = z.infer<typeof rewardOptionsSchema>;

/** The literal reading of the article differs in the advantage and the loss mass, not in the score. */
export const rewardPresets: Readonly<Record<'recommended' | 'article', RewardOptions>> = {
  recommended: rewardOptionsSchema.parse({}),
  article: rewardOptionsSchema.parse({}),
};
