/** The one call of mem0ai 2.2.1: the additive extraction of the SDK for Node, in Python's spelling. */
import { z } from 'zod';
import type { AnswerVerdict, Stage } from '../../../core/stage.ts';
import { malformed, readShapedAnswer } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { composeMem0Answer, requestedOperations } from '../mem0/answer.ts';
import { type Mem0Dialect, type Mem0Prompt, readMem0Prompt } from '../mem0/prompt.ts';
import { renderMem0View } from '../mem0/view.ts';

export const PYTHON: Mem0Dialect = {
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

const { stage, promptOf } = promptStage(
  'extract',
  (messages) => readMem0Prompt(messages, PYTHON),
  renderMem0View,
);

export const extractStage2x: Stage = {
  ...stage,
  read: promptOf,
  check: (answer, messages) => checkExtract(answer, promptOf(messages)),
  compose: composeMem0Answer,
};

export function checkExtract(
  answer: string,
  prompt: Pick<Mem0Prompt, 'existingMemories'>,
): AnswerVerdict {
  const found = readShapedAnswer(answer, answerSchema);
  if (found.kind === 'malformed') return malformed(...found.reasons);
  const offered = new Set(prompt.existingMemories.map(({ id }) => id));
  const { memory } = found.value;
  const linked = memory.flatMap(({ linked_memory_ids: ids }) => ids ?? []);
  if (linked.some((id) => !offered.has(id))) return malformed('unknown-id');
  const texts = memory.map(({ text }) => text);
  return { kind: 'well-formed', operations: requestedOperations(texts, prompt) };
}
