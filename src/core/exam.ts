/** What a bank is asked about: probes, traps, cross-chunk questions and gold facts (definitions §2-4). */
import { z } from 'zod';
import { windowSchema } from './conversation.ts';
import { faultSchema } from './outcome.ts';

export const categorySchema = z.enum([
  'specificity',
  'semantic-exactness',
  'secondary-detail',
  'state-transition',
  'should-not-store',
  'content-not-description',
]);
export type Category = z.infer<typeof categorySchema>;

/**
 * What a rule judge looks for. An LLM judge reads `text` instead; both see the same criterion.
 * `all`: every phrase must be asserted; `none`: any of them asserted contradicts the criterion.
 */
export const keySchema = z.object({
  all: z.array(z.string().min(1)).min(1),
  none: z.array(z.string().min(1)).default([]),
});
export type Key = z.infer<typeof keySchema>;

export const criterionSchema = z.object({
  id: z.string().min(1),
  text: z.string().min(1),
  weight: z.number().positive(),
  key: keySchema.optional(),
});
export type Criterion = z.infer<typeof criterionSchema>;

const itemFields = {
  id: z.string().min(1),
  question: z.string().min(1),
  reference: z.string().min(1),
  rubric: z.array(criterionSchema).min(1),
};

export const recallProbeSchema = z.object({
  kind: z.literal('recall'),
  ...itemFields,
  category: categorySchema,
  /** The chunk whose write this probe scores. */
  chunkId: z.string().min(1),
  /** Free-form facets that reports group by: kind of value (`name`, `version`, …), seen or held-out form. */
  facets: z.record(z.string(), z.string()).default({}),
  margin: z.number().default(0),
});
export const trapProbeSchema = z.object({
  kind: z.literal('trap'),
  ...itemFields,
  category: z.literal('should-not-store'),
  chunkId: z.string().min(1),
  /** The content that must not be asserted. */
  trapped: keySchema.optional(),
  facets: z.record(z.string(), z.string()).default({}),
  margin: z.number().default(0),
});
export const probeSchema = z.discriminatedUnion('kind', [recallProbeSchema, trapProbeSchema]);
export type RecallProbe = z.infer<typeof recallProbeSchema>;
export type TrapProbe = z.infer<typeof trapProbeSchema>;
export type Probe = z.infer<typeof probeSchema>;

export const goldFactSchema = z.object({
  id: z.string().min(1),
  /** src(f): the earliest chunk that asserts the fact. */
  chunkId: z.string().min(1),
  text: z.string().min(1),
  weight: z.number().positive(),
  key: keySchema.optional(),
});
export type GoldFact = z.infer<typeof goldFactSchema>;

/** A cross-chunk question: credit goes to each chunk whose gold facts an answer recovered. */
export const questionSchema = z.object({
  kind: z.literal('question'),
  ...itemFields,
  evidenceChunkIds: z.array(z.string().min(1)).min(1),
  goldFacts: z.array(goldFactSchema).min(1),
  facets: z.record(z.string(), z.string()).default({}),
});
export type Question = z.infer<typeof questionSchema>;
export type ExamItem = Probe | Question;

/** One window with everything its bank will be asked: the unit of reward data. */
export const windowArtifactSchema = z.object({
  window: windowSchema,
  probes: z.array(probeSchema),
  questions: z.array(questionSchema),
});
export type WindowArtifact = z.infer<typeof windowArtifactSchema>;

export const halfSchema = z.union([z.literal(0), z.literal(0.5), z.literal(1)]);
export type Half = z.infer<typeof halfSchema>;

/** One graded item. A fault has no score; it is removed for the whole group (definitions §5). */
export const itemResultSchema = z.object({
  itemId: z.string().min(1),
  answer: z.string().optional(),
  result: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('graded'),
      /** r = Σ w m / Σ w for recall probes and questions; 0 or 1 for traps. */
      score: z.number().min(0).max(1),
      /** ρ(q, f) by gold fact id; empty for probes. */
      credits: z.record(z.string(), halfSchema),
    }),
    faultSchema,
  ]),
});
export type ItemResult = z.infer<typeof itemResultSchema>;
