/** The two calls of mem0ai 1.0.11: find facts, then decide for each whether it is added, changes, removes, or is known. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import { FaultError } from '../../../core/outcome.ts';
import type {
  AnswerVerdict,
  CheckedCall,
  RequestedOperation,
  Stage,
  WriteEffect,
} from '../../../core/stage.ts';
import { composeJson, malformed, readShapedAnswer } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { numbered, sectionView } from '../../section-view.ts';
import {
  type FactsPrompt,
  readFactsPrompt,
  readUpdatePrompt,
  type UpdatePrompt,
} from './prompt-1x.ts';

const factsAnswer = z.strictObject({ facts: z.array(z.string().min(1)) });

/** `<|mem0-1x.facts|>`, `<|new|>role: text…<|date|>YYYY-MM-DD` */
export function renderFactsView({ newMessages, date }: FactsPrompt): ChatMessage[] {
  return sectionView('<|mem0-1x.facts|>', [
    ['<|new|>', newMessages],
    ['<|date|>', [date]],
  ]);
}

const facts = promptStage('facts', readFactsPrompt, renderFactsView);

export const factsStage: Stage = {
  ...facts.stage,
  read: (messages) => ({ newMessages: facts.promptOf(messages).newMessages, existingMemories: [] }),
  check: (answer) => {
    const read = readShapedAnswer(answer, factsAnswer);
    // What is found is a draft: the second call decides.
    return read.kind === 'value'
      ? { kind: 'well-formed', operations: [] }
      : malformed(...read.reasons);
  },
  compose: (texts) => composeJson({ facts: texts }),
};

const memberSchema = z.strictObject({
  id: z.string(),
  /** An entry without a text is skipped, whatever its event. */
  text: z.string().min(1),
  event: z.enum(['ADD', 'UPDATE', 'DELETE', 'NONE']),
  old_memory: z.string().optional(),
});
const updateAnswer = z.strictObject({ memory: z.array(memberSchema) });

/** `<|mem0-1x.update|>`, `<|existing|>0 text…<|drafts|>fact…` */
export function renderUpdateView({ existingMemories, facts }: UpdatePrompt): ChatMessage[] {
  return sectionView('<|mem0-1x.update|>', [
    ['<|existing|>', numbered(existingMemories.map(({ text }) => text))],
    ['<|drafts|>', facts],
  ]);
}

const update = promptStage('update', readUpdatePrompt, renderUpdateView);

export const updateStage: Stage = {
  ...update.stage,
  read: (messages) => {
    const prompt = update.promptOf(messages);
    return { newMessages: prompt.facts, existingMemories: prompt.existingMemories };
  },
  check: (answer, messages) => checkUpdate(answer, update.promptOf(messages)),
  compose: (texts, messages) => {
    const { facts: found, existingMemories } = update.promptOf(messages);
    const kept = found.filter((fact) => texts.includes(fact));
    const memory = kept.map((text, i) => ({
      id: String(existingMemories.length + i),
      text,
      event: 'ADD',
    }));
    return composeJson({ memory });
  },
  misname: (kind, messages) => {
    const [first] = update.promptOf(messages).existingMemories;
    const rename = (id: string) => ({ id, text: 'renamed', event: 'UPDATE' });
    if (kind === 'unknown-id') return JSON.stringify({ memory: [rename('999')] });
    return first && JSON.stringify({ memory: [rename(first.id), rename(first.id)] });
  },
};

/** Every memory that is named was offered, each once. */
export function checkUpdate(
  answer: string,
  { existingMemories }: Pick<UpdatePrompt, 'existingMemories'>,
): AnswerVerdict {
  const read = readShapedAnswer(answer, updateAnswer, ['event']);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const offered = new Set(existingMemories.map(({ id }) => id));
  const touched = read.value.memory.filter(({ event }) => event !== 'ADD').map(({ id }) => id);
  if (touched.some((id) => !offered.has(id))) return malformed('unknown-id');
  if (new Set(touched).size < touched.length) return malformed('schema-invalid');
  return { kind: 'well-formed', operations: read.value.memory.map(operationOf) };
}

function operationOf({ id, text, event }: z.infer<typeof memberSchema>): RequestedOperation {
  switch (event) {
    case 'ADD':
      return { kind: 'add', text };
    case 'UPDATE':
      return { kind: 'update', id, text };
    case 'DELETE':
      return { kind: 'remove', id };
    case 'NONE':
      return { kind: 'none' };
    default:
      return event satisfies never;
  }
}

/** Only the second call changes the bank; the SDK swallows its failure, so found facts without it are a failed write. */
export function effectOf1x(calls: readonly CheckedCall[]): WriteEffect {
  const found = calls
    .filter(({ stage }) => stage === factsStage.name)
    .flatMap(({ answer }) => {
      const read = readShapedAnswer(answer, factsAnswer);
      return read.kind === 'value' ? read.value.facts : [];
    });
  const requests = calls.filter(({ stage }) => stage === updateStage.name);
  const asked = new Set(requests.flatMap(({ messages }) => update.promptOf(messages).facts));
  const lost = found.filter((fact) => !asked.has(fact));
  if (lost.length > 0) {
    throw new FaultError(
      'harness',
      `failed write: ${lost.length} of ${found.length} facts never came to a decision`,
    );
  }
  return { requests, optional: [] };
}
