/** MemOS's one kind of model call: a window of the conversation becomes memories, add-only; long chunks have several. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type { AnswerVerdict, Stage } from '../../../core/stage.ts';
import { composeJson, malformed, readShapedAnswer } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { sectionView } from '../../section-view.ts';
import { type MemosPrompt, readMemosPrompt } from './prompt.ts';

/** Items outside of it are dropped, given defaults, or stored empty; a summary that is no text drops them all. */
const answerSchema = z.strictObject({
  'memory list': z.array(
    z.strictObject({
      key: z.string(),
      memory_type: z.enum(['LongTermMemory', 'UserMemory']),
      value: z.string().min(1),
      tags: z.array(z.string()),
    }),
  ),
  summary: z.string(),
});

/** `<|memos.extract|>`, `<|new|>role: text…<|date|>the messages' time` */
export function renderMemosView({ newMessages, time }: MemosPrompt): ChatMessage[] {
  return sectionView('<|memos.extract|>', [
    ['<|new|>', newMessages],
    ['<|date|>', [time]],
  ]);
}

const { stage, promptOf } = promptStage('extract', readMemosPrompt, renderMemosView);

export const memosExtractStage: Stage = {
  ...stage,
  read: (messages) => ({ newMessages: promptOf(messages).newMessages, existingMemories: [] }),
  check: (answer, messages) => checkMemos(answer, promptOf(messages)),
  compose: (texts) => {
    const list = texts.map((value) => ({
      key: value.slice(0, 40),
      memory_type: 'UserMemory',
      value,
      tags: [],
    }));
    return composeJson({ 'memory list': list, summary: '' });
  },
};

const ROLES = ['user', 'assistant', 'system'];

export function checkMemos(answer: string, { time }: Pick<MemosPrompt, 'time'>): AnswerVerdict {
  const read = readShapedAnswer(answer, answerSchema);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const texts = read.value['memory list'].map(({ value }) => value);
  // A copied line of the transcript cannot be told from the fallback that stores the whole of it.
  const mark = `: [${time}]: `;
  if (texts.some((text) => ROLES.some((role) => text.startsWith(`${role}${mark}`)))) {
    return malformed('schema-invalid');
  }
  return { kind: 'well-formed', operations: texts.map((text) => ({ kind: 'add', text })) };
}
