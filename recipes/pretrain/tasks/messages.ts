/** Messages and times as the frameworks print them. */
import type { Message } from '../../../src/core/conversation.ts';

export function line({ role, text }: Pick<Message, 'role' | 'text'>): string {
  return `${role}: ${text}`;
}

/** For a framework that knows no tools: what they answer is handed over as the assistant's. */
export function withoutToolRole({ role, text }: Message): Pick<Message, 'role' | 'text'> {
  return { role: role === 'tool' ? 'assistant' : role, text };
}

/** YYYY-MM-DD */
export function dayOf(at: string): string {
  return at.slice(0, 10);
}

/** Tool traffic left out, where a framework takes what was said alone. */
export function isSpoken({ role, toolCalls }: Message): boolean {
  return role !== 'tool' && toolCalls === undefined;
}
