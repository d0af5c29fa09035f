/** Exam items that still cite messages, before chunking decides which chunk each message belongs to. */
import { z } from 'zod';
import type { Session } from './conversation.ts';
import { categorySchema, criterionSchema, keySchema } from './exam.ts';

const fields = {
  id: z.string().min(1),
  question: z.string().min(1),
  reference: z.string().min(1),
  rubric: z.array(criterionSchema).min(1),
  facets: z.record(z.string(), z.string()).default({}),
};

export const annotatedFactSchema = z.object({
  id: z.string().min(1),
  text: z.string().min(1),
  weight: z.number().positive().default(1),
  key: keySchema.optional(),
  /** Messages that assert the fact; the earliest chunk among them is its source. */
  messageIds: z.array(z.string().min(1)).min(1),
});

/** A source's item: what the world generates and what a data set's evidence citations become. */
export const annotatedItemSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('recall'),
    ...fields,
    category: categorySchema,
    /** Evidence of one chunk: a recall probe of it. A transition also cites the old value's message. */
    messageIds: z.array(z.string().min(1)).min(1),
    /** The message whose chunk is scored: for a transition, the one that tells the change. */
    scoredMessageId: z.string().min(1),
  }),
  z.object({
    kind: z.literal('trap'),
    ...fields,
    trapped: keySchema.optional(),
    /** The message that tempts the writer. */
    scoredMessageId: z.string().min(1),
  }),
  z.object({
    kind: z.literal('question'),
    ...fields,
    /** For a question whose evidence falls into one chunk: it becomes a recall probe of this category. */
    category: categorySchema.optional(),
    goldFacts: z.array(annotatedFactSchema).min(1),
  }),
]);
export type AnnotatedItem = z.infer<typeof annotatedItemSchema>;

/** One user's stream as any source yields it. Sessions are in time order. */
export interface UserStream {
  readonly userId: string;
  readonly sessions: readonly Session[];
  readonly items: readonly AnnotatedItem[];
}
