/** Mem0's only kind of model call: one extraction a write, add-only. */
import type { ChatMessage } from '../../../core/chat.ts';
import type { Stage } from '../../../core/stage.ts';
import { checkMem0Answer, composeMem0Answer } from './answer.ts';
import { type Mem0Prompt, readMem0Prompt } from './prompt.ts';
import { renderMem0View } from './view.ts';

export const mem0ExtractStage: Stage = {
  name: 'extract',
  recognise: (messages) => readMem0Prompt(messages) !== undefined,
  read,
  view: (messages) => {
    const prompt = readMem0Prompt(messages);
    return prompt === undefined ? messages : renderMem0View(prompt);
  },
  check: (answer, messages) => checkMem0Answer(answer, read(messages)),
  compose: composeMem0Answer,
};

function read(messages: readonly ChatMessage[]): Mem0Prompt {
  const prompt = readMem0Prompt(messages);
  if (prompt === undefined) throw new Error('not an extraction request of mem0ai 3.3.1');
  return prompt;
}
