/** What the outside world said: sessions, and the chunks and windows a memory writer sees (definitions §1). */
import { z } from 'zod';

/** Hygiene has run: `text` is a plain, well-formed string; images and tool traffic are already rendered into it. */
export const messageSchema = z.object({
  /** Unique within the user's stream; evidence cites it. */
  id: z.string().min(1),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  /** Who spoke, when a conversation has more parties than user and assistant. */
  speaker: z.string().min(1).optional(),
  text: z.string(),
  /** Tool traffic as it was, for frameworks that take it; `text` holds it rendered as well. `arguments` is JSON text. */
  toolCalls: z
    .array(z.object({ id: z.string().min(1), name: z.string().min(1), arguments: z.string() }))
    .min(1)
    .optional(),
  /** The call that a tool's message answers. */
  toolCallId: z.string().min(1).optional(),
  /** The message's own words, where `text` also holds rendered tool traffic. */
  spokenText: z.string().optional(),
});
export type Message = z.infer<typeof messageSchema>;

/** What the parties were doing: talking, working through tools, or programming. */
export const sceneSchema = z.enum(['chat', 'working', 'coding']);
export type Scene = z.infer<typeof sceneSchema>;

export const sessionSchema = z.object({
  id: z.string().min(1),
  userId: z.string().min(1),
  /** ISO 8601 with an explicit offset, e.g. `2024-05-08T20:15:00+02:00`. Naive times are refused. */
  at: z.iso.datetime({ offset: true }),
  scene: sceneSchema.default('chat'),
  messages: z.array(messageSchema),
});
export type Session = z.infer<typeof sessionSchema>;

export const chunkSchema = z.object({
  id: z.string().min(1),
  userId: z.string().min(1),
  sessionId: z.string().min(1),
  /** Position in the user's stream, from 0. */
  index: z.int().nonnegative(),
  at: z.iso.datetime({ offset: true }),
  scene: sceneSchema.default('chat'),
  messages: z.array(messageSchema),
  /** Tokens of the rendered text under the run's pinned tokenizer. */
  tokens: z.int().nonnegative(),
  /** A single turn above `maxChunkTokens` stays whole and is flagged. */
  oversized: z.boolean(),
});
export type Chunk = z.infer<typeof chunkSchema>;

export const windowSchema = z.object({
  id: z.string().min(1),
  userId: z.string().min(1),
  /** Position in the user's parent chain, from 0. */
  index: z.int().nonnegative(),
  chunks: z.array(chunkSchema).min(1).max(5),
});
export type Window = z.infer<typeof windowSchema>;

/** The plain rendering of a chunk, one message a line: what the verbatim control holds and what `|c[t]|` counts. */
export function renderChunk(messages: readonly Message[]): string {
  return messages.map(renderMessage).join('\n');
}

export function renderMessage({ role, speaker, text }: Message): string {
  return `${speaker ?? role}: ${text}`;
}
