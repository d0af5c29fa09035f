/** Text to token ids and back, and the chat template: what a policy directory says about its own language. */
import type { ChatMessage } from '../core/chat.ts';

export interface Tokenizer {
  readonly vocabularySize: number;
  /** sha256 of the tokenizer's definition: student and teacher must agree on it. */
  readonly hash: string;
  encode(text: string): number[];
  /** Special tokens included; a cut multi-byte character decodes to U+FFFD. */
  decode(ids: readonly number[]): string;
  /** The id of one token of the vocabulary. Throws when there is none. */
  idOf(token: string): number;
  /** |x| of definitions §1. */
  count(text: string): number;
}

/** Renders a chat with the policy's own template, ready for the assistant's first token. */
export interface PromptTemplate {
  readonly tokenizer: Tokenizer;
  readonly stopIds: readonly number[];
  render(messages: readonly ChatMessage[]): number[];
}
