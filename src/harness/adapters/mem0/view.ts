/** The documented view of Mem0's extraction request: one task token for the static prompt, every variable part whole. */
import type { ChatMessage } from '../../../core/chat.ts';
import { sectionView } from '../../section-view.ts';
import type { Mem0Prompt } from './prompt.ts';

/**
 * system: `<|mem0.extract|>`
 * user: `<|last|>role: text…<|existing|>0 text…<|new|>role: text…<|date|>YYYY-MM-DD`, the members of a section one a line.
 */
export function renderMem0View(prompt: Mem0Prompt): ChatMessage[] {
  return sectionView('<|mem0.extract|>', [
    ['<|last|>', prompt.lastMessages],
    ['<|existing|>', prompt.existingMemories.map(({ id, text }) => `${id} ${text}`)],
    ['<|new|>', prompt.newMessages],
    ['<|date|>', [prompt.date]],
  ]);
}
