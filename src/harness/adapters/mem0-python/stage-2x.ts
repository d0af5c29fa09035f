/** The one call of mem0ai 2.2.1: the additive extraction of the SDK for Node, in Python's spelling. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type { Stage } from '../../../core/stage.ts';
import { malformed, readShapedAnswer } from '../../json-answer.ts';
import { composeMem0Answer, requestedOperations } from '../mem0/answer.ts';
import { type Mem0Dialect, type Mem0Prompt, readMem0Prompt } from '../mem0/prompt.ts';
import { renderMem0View } from '../mem0/view.ts';

const PYTHON: Mem0Dialect = {
  systemSha256: 'ad19187a37813ef77ee156e714c0650e6ec749e0264bdc07d499bc9b24115155',
  spell: (memories) => {
    const spelt = memories.map(
      ({ id, text }) => `{"id": ${JSON.stringify(id)}, "text": ${JSON.stringify(text)}}`,
    );
    return `[${spelt.join(', ')}]`;
  },
  endsLine: true,
};

const answerSchema = z.strictObject({
  memory: z.array(
    z.strictObject({
      id: z.string().optional(),
      text: z.string().min(1),
      attributed_to: z.enum(['user', 'assistant']).optional(),
      linked_memory_ids: z.array(z.string()).optional(),
    }),
  ),
});

export const extractStage2x: Stage = {
  name: 'extract',
  recognise: (messages) => readMem0Prompt(messages, PYTHON) !== undefined,
  read,
  view: (messages) => {
    const prompt = readMem0Prompt(messages, PYTHON);
    return prompt === undefined ? messages : renderMem0View(prompt);
  },
  check: (answer, messages) => {
    const found = readShapedAnswer(answer, answerSchema);
    if (found.kind === 'malformed') return malformed(...found.reasons);
    const prompt = read(messages);
    const offered = new Set(prompt.existingMemories.map(({ id }) => id));
    const { memory } = found.value;
    const linked = memory.flatMap(({ linked_memory_ids: ids }) => ids ?? []);
    if (linked.some((id) => !offered.has(id))) return malformed('unknown-id');
    const texts = memory.map(({ text }) => text);
    return { kind: 'well-formed', operations: requestedOperations(texts, prompt) };
  },
  compose: composeMem0Answer,
};

function read(messages: readonly ChatMessage[]): Mem0Prompt {
  const prompt = readMem0Prompt(messages, PYTHON);
  if (prompt === undefined) throw new Error('not an extraction request of mem0ai 2.2.1');
  return prompt;
}
