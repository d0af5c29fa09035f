/** How hard the synthetic world is. Every knob is a field, recorded with the run that used it. */
import { z } from 'zod';

const share = z.number().min(0).max(1);

export const worldOptionsSchema = z
  .strictObject({
    seed: z.int().nonnegative().default(0),
    /** Values (and, for facts, held-out surface forms) of one split never occur in the other. */
    split: z.enum(['train', 'eval']).default('train'),
    /** `mixed`: a third of the users talks, a third works through tools, a third programs. */
    scene: z.enum(['chat', 'working', 'coding', 'mixed']).default('chat'),
    users: z.int().positive().default(8),
    sessionsPerUser: z.int().positive().default(5),
    /** A session of at most 14 turns is one chunk (definitions §1). */
    turnsPerSession: z.int().min(2).max(14).default(7),
    factsPerChunk: z
      .strictObject({ min: z.int().nonnegative(), max: z.int().positive() })
      .default({ min: 2, max: 4 }),
    /** Of the turns that tell no fact: how many tempt the writer. The others are filler ("ok", "thanks"). */
    chatterShare: share.default(0.6),
    /** Of the facts: how many change a value that was told before. */
    transitionShare: share.default(0.2),
    /** Of the sessions: how many tell something again that is known already. */
    repeatShare: share.default(0.3),
    /** Of the facts: how many only the assistant states ("the booking number is …"). */
    assistantFactShare: share.default(0.1),
    /** Of the facts of a working or coding session: how many only a tool's result states. */
    toolFactShare: share.default(0.35),
    /** Of the facts: how many are told wrongly first and corrected in the same chunk. */
    correctionShare: share.default(0.08),
    /** Of the facts: how many speak of "that project" of an earlier session. */
    referenceShare: share.default(0.15),
    /** Of the facts: how many share their sentence with a second one. */
    twoFactShare: share.default(0.12),
    /** Tell about half of the facts in surface forms that training never shows (`eval` only). */
    heldOutForms: z.boolean().default(false),
  })
  .refine((options) => options.factsPerChunk.min <= options.factsPerChunk.max, {
    error: 'factsPerChunk.min must not exceed factsPerChunk.max',
    path: ['factsPerChunk'],
  })
  .refine((options) => options.factsPerChunk.max <= options.turnsPerSession, {
    error: 'factsPerChunk.max must not exceed turnsPerSession',
    path: ['factsPerChunk'],
  })
  .refine((options) => options.split === 'eval' || !options.heldOutForms, {
    error: 'held-out forms exist in the eval split only',
    path: ['heldOutForms'],
  });

export type WorldOptions = z.infer<typeof worldOptionsSchema>;
export type WorldOptionsInput = z.input<typeof worldOptionsSchema>;

/** `easy`: plain facts and filler. `demo`: every category. `hard`: crowded, tempting, much that leans on earlier chunks. */
export const worldPresets = {
  easy: {
    factsPerChunk: { min: 1, max: 3 },
    chatterShare: 0.3,
    transitionShare: 0.05,
    repeatShare: 0.1,
    assistantFactShare: 0.05,
    correctionShare: 0,
    referenceShare: 0.05,
    twoFactShare: 0.05,
  },
  demo: {},
  hard: {
    turnsPerSession: 8,
    factsPerChunk: { min: 3, max: 5 },
    chatterShare: 0.8,
    transitionShare: 0.28,
    repeatShare: 0.5,
    assistantFactShare: 0.12,
    correctionShare: 0.12,
    referenceShare: 0.22,
    twoFactShare: 0.18,
  },
} as const satisfies Record<string, WorldOptionsInput>;
