/** The LoCoMo file as it is published: loose, because others write it. */
import { z } from 'zod';

/** Numbers become text; "books,journal" gets the space that its author left out, or nobody could match its words. */
const answerSchema = z
  .union([z.string(), z.number()])
  .transform((answer) => String(answer).replace(/,(?=[\p{L}\p{Quotation_Mark}]|\d{4}\b)/gu, ', '));

export const locomoTurnSchema = z.looseObject({
  speaker: z.string().min(1),
  /** `D<session>:<turn>`, unique within the conversation. */
  dia_id: z.string().min(1),
  text: z.string(),
  img_url: z.unknown().optional(),
  blip_caption: z.string().optional(),
});
export type LocomoTurn = z.infer<typeof locomoTurnSchema>;

export const locomoQuestionSchema = z.looseObject({
  question: z.string().min(1),
  answer: answerSchema.optional(),
  /** Category 5: the wrong answer that the question tempts to. */
  adversarial_answer: answerSchema.optional(),
  evidence: z.array(z.unknown()).optional(),
  category: z.int().min(1).max(5),
});
export type LocomoQuestion = z.infer<typeof locomoQuestionSchema>;

export const locomoConversationSchema = z.looseObject({
  sample_id: z.string().min(1),
  /** `session_<n>`: turns; `session_<n>_date_time`: text; `speaker_a`, `speaker_b`. */
  conversation: z.record(z.string(), z.unknown()),
  qa: z.array(locomoQuestionSchema),
});
export type LocomoConversation = z.infer<typeof locomoConversationSchema>;

export const locomoFileSchema = z.array(locomoConversationSchema).min(1);
