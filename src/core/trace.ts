/** The one record of a rollout. Stages add to it from left to right; nothing reads backwards. */
import { z } from 'zod';
import { memoryOpSchema } from './bank.ts';
import { chatMessageSchema, usageSchema } from './chat.ts';
import { itemResultSchema } from './exam.ts';
import { faultSchema, outcomeSchema, policyErrorSchema } from './outcome.ts';

/** Token-exact record of one sampled answer: training uses these ids and never re-tokenises. */
export const segmentSchema = z.object({
  promptIds: z.array(z.int().nonnegative()),
  sampledIds: z.array(z.int().nonnegative()),
  /** log-probability of each sampled token at temperature 1 under the policy that sampled it; same length as `sampledIds`. */
  logprobs: z.array(z.number()),
  policyVersion: z.int().nonnegative(),
});
export type Segment = z.infer<typeof segmentSchema>;

/** One model call seen by the gateway. */
export const callSchema = z.object({
  /** Unique within the slot, in order of arrival: `0`, `1`, … */
  id: z.string(),
  /** Calls during retrieval are recorded as not trainable. */
  purpose: z.enum(['write', 'retrieve']),
  /** Stage name, or `unknown` (which fails closed). */
  stage: z.string(),
  messages: z.array(chatMessageSchema),
  text: z.string(),
  stopReason: z.enum(['stop', 'length', 'overflow', 'error']),
  /** Present in render mode. */
  segment: segmentSchema.optional(),
  usage: usageSchema.optional(),
  outcome: outcomeSchema,
  durationMs: z.number().nonnegative(),
});
export type Call = z.infer<typeof callSchema>;

/** What one chunk's write did, by the gateway's record and the difference of two listings. */
export const chunkWriteSchema = z.object({
  chunkId: z.string(),
  calls: z.array(callSchema),
  ops: z.array(memoryOpSchema),
  /** |B[t−1]|, |B[t]| and |c[t]| in tokens of the pinned tokenizer. */
  tokensBefore: z.int().nonnegative(),
  tokensAfter: z.int().nonnegative(),
  chunkTokens: z.int().nonnegative(),
  hashAfter: z.string(),
  outcome: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('ok'),
      /** Malformed calls that the framework recovered by its own retry, over all calls. */
      recoveredMalformed: z.number().min(0).max(1),
    }),
    policyErrorSchema,
  ]),
});
export type ChunkWrite = z.infer<typeof chunkWriteSchema>;

/** One rollout of one window. A fault is a fault at every t: no loss, no vote, no promotion. */
export const rolloutSchema = z.object({
  windowId: z.string(),
  configuration: z.string(),
  /** (user, replica): names the parent chain. */
  sequence: z.string(),
  /** i, from 0. */
  index: z.int().nonnegative(),
  parentHash: z.string(),
  /** One per chunk of the window, unless the rollout is a fault. */
  writes_T: z.array(chunkWriteSchema),
  finalHash: z.string(),
  bankTokens: z.int().nonnegative(),
  outcome: z.discriminatedUnion('kind', [z.object({ kind: z.literal('ok') }), faultSchema]),
});
export type Rollout = z.infer<typeof rolloutSchema>;

/** The user of a sequence `user/replica`; a user's own id may hold slashes. */
export function userOfSequence(sequence: string): string {
  return sequence.slice(0, sequence.lastIndexOf('/'));
}

export const chunkScoreSchema = z.object({
  /** Absent where the chunk has no admitted probe (or question): left out of logged means. */
  prm: z.number().optional(),
  orm: z.number().optional(),
  pen: z.number(),
  /** Share of the write's calls that were malformed; 1 where the framework did not recover. */
  malformed: z.number(),
  /** Terms that item faults emptied for the whole group: the column has advantage 0. */
  voidedTerms: z.array(z.enum(['prm', 'orm'])).default([]),
  /** s[t]; −0.5 for an unrecovered malformed action. */
  score: z.number(),
});
export type ChunkScore = z.infer<typeof chunkScoreSchema>;

export const scoredRolloutSchema = rolloutSchema.extend({
  results: z.array(itemResultSchema),
  /** One per chunk; empty where the rollout is a fault. */
  scores_T: z.array(chunkScoreSchema),
  /** S_i = Σ_t s_i[t]; absent where the rollout is a fault, which never takes a number. */
  total: z.number().optional(),
});
export type ScoredRollout = z.infer<typeof scoredRolloutSchema>;

export const creditedRolloutSchema = scoredRolloutSchema.extend({
  /** A_i[t], one scalar per chunk however many segments it has; empty where the rollout is a fault. */
  advantages_T: z.array(z.number()),
});
export type CreditedRollout = z.infer<typeof creditedRolloutSchema>;
