/** A turn is one user message with everything up to the next user message (definitions §1). */
import type { Message } from '../core/conversation.ts';

export type Turn = readonly Message[];

/** In order and complete: concatenated, the turns are the messages. What precedes the first user message opens turn one. */
export function turnsOf(messages: readonly Message[]): Turn[] {
  const turns: Message[][] = [];
  let hasUser = false;
  for (const message of messages) {
    const current = turns.at(-1);
    const opens = message.role === 'user' && hasUser;
    if (current === undefined || opens) turns.push([message]);
    else current.push(message);
    hasUser ||= message.role === 'user';
  }
  return turns;
}
