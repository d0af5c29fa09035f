/** Why an item is in no exam: every rejection is a record with its layer and reason (definitions §3). */
import { z } from 'zod';

const rejectionLayerSchema = z.enum([
  /** Before validation: its evidence cannot be mapped to a chunk that could be scored. */
  'placement',
  'schema',
  'causal-locality',
  'rubric-independence',
  'discriminability',
  'empty-bank',
  'verbatim',
]);

export const rejectionSchema = z.object({
  itemId: z.string().min(1),
  kind: z.enum(['recall', 'trap', 'question']),
  layer: rejectionLayerSchema,
  /** A short code that counts can group by. */
  reason: z.string().min(1),
  detail: z.string().default(''),
});
export type Rejection = z.infer<typeof rejectionSchema>;
