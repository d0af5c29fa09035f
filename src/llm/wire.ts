/** The OpenAI wire: loose where others send, exact types for what we emit. */
import { z } from 'zod';

const textPartSchema = z.looseObject({ type: z.string(), text: z.string().optional() });

const contentSchema = z.union([z.string(), z.array(textPartSchema)]).nullish();
export type WireContent = z.infer<typeof contentSchema>;

const wireMessageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: contentSchema,
  tool_calls: z.array(z.unknown()).nullish(),
  refusal: z.string().nullish(),
});
export type WireMessage = z.infer<typeof wireMessageSchema>;

/** What a framework may send. Unknown fields pass. */
export const chatRequestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(wireMessageSchema).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  n: z.int().positive().nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  tools: z.array(z.unknown()).nullish(),
});
export type ChatRequest = z.infer<typeof chatRequestSchema>;

const wireUsageSchema = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative().optional(),
  total_tokens: z.int().nonnegative().optional(),
});
export type WireUsage = z.infer<typeof wireUsageSchema>;

/** What a provider may answer. */
export const chatResponseSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        message: z.looseObject({
          content: contentSchema,
          tool_calls: z.array(z.unknown()).nullish(),
          refusal: z.string().nullish(),
        }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: wireUsageSchema.nullish(),
});
export type ChatResponse = z.infer<typeof chatResponseSchema>;

/** One event of a provider's stream; the last one may carry usage and no choice, an error neither. */
export const chatChunkSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        index: z.int().optional(),
        delta: z
          .looseObject({
            content: z.string().nullish(),
            tool_calls: z.array(z.unknown()).nullish(),
            refusal: z.string().nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .default([]),
  usage: wireUsageSchema.nullish(),
  error: z.looseObject({ message: z.string().optional() }).nullish(),
});

export const embeddingsRequestSchema = z.looseObject({
  model: z.string(),
  input: z.union([z.string(), z.array(z.string()).min(1).max(2048)]),
  dimensions: z.int().positive().nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});
export type EmbeddingsRequest = z.infer<typeof embeddingsRequestSchema>;

export const embeddingsResponseSchema = z.looseObject({
  data: z.array(
    z.looseObject({
      index: z.int().nonnegative(),
      embedding: z.union([z.array(z.number()), z.base64()]),
    }),
  ),
  usage: wireUsageSchema.nullish(),
});

export const errorBodySchema = z.looseObject({
  error: z.looseObject({
    message: z.string().optional(),
    code: z.union([z.string(), z.number()]).nullish(),
    type: z.string().nullish(),
  }),
});

export interface EmittedUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export interface EmittedCompletion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    readonly message: {
      readonly role: 'assistant';
      readonly content: string;
      readonly refusal: null;
    };
    readonly logprobs: null;
    readonly finish_reason: 'stop' | 'length';
  }[];
  readonly usage: EmittedUsage;
}

/** The body every OpenAI SDK turns into its own error class. */
export function errorBody(message: string, code: string, param: string | null = null): string {
  return JSON.stringify({ error: { message, type: 'invalid_request_error', param, code } });
}
