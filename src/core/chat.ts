/** The chat request as it crosses our gateway, reduced to what a writer or a stage can depend on. */
import { z } from 'zod';

export const chatMessageSchema = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.string(),
});
export type ChatMessage = z.infer<typeof chatMessageSchema>;

export const usageSchema = z.object({
  promptTokens: z.int().nonnegative(),
  completionTokens: z.int().nonnegative(),
  costUsd: z.number().nonnegative().optional(),
});
export type Usage = z.infer<typeof usageSchema>;

/** An OpenAI-compatible endpoint. `baseUrl` ends before `/chat/completions`. */
export interface Endpoint {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}
