/** The documented view of Mem0's extraction request: one task token for the static prompt, every variable part whole. */
import type { ChatMessage } from '../../../core/chat.ts';
import { escapeSpecials } from '../../../core/special-tokens.ts';
import type { Mem0Prompt } from './prompt.ts';

/**
 * system: `<|mem0.extract|>`
 * user: `<|last|>role: text…<|existing|>0 text…<|new|>role: text…<|date|>YYYY-MM-DD`, the members of a section one a line.
 * `<|` in conversation or memories becomes `< |`, so that they cannot spell a marker.
 */
export function renderMem0View(prompt: Mem0Prompt): ChatMessage[] {
  const existing = prompt.existingMemories.map(({ id, text }) => `${id} ${text}`);
  const content = [
    `<|last|>${lines(prompt.lastMessages)}`,
    `<|existing|>${lines(existing)}`,
    `<|new|>${lines(prompt.newMessages)}`,
    `<|date|>${escapeSpecials(prompt.date)}`,
  ].join('');
  return [
    { role: 'system', content: '<|mem0.extract|>' },
    { role: 'user', content },
  ];
}

function lines(members: readonly string[]): string {
  return escapeSpecials(members.join('\n'));
}
