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

export const factsStage: Stage = {
  name: 'facts',
  recognise: (messages) => readFactsPrompt(messages) !== undefined,
  read: (messages) => ({ newMessages: factsOf(messages).newMessages, existingMemories: [] }),
  view: (messages) => {
    const prompt = readFactsPrompt(messages);
    return prompt === undefined ? messages : renderFactsView(prompt);
  },
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

export const updateStage: Stage = {
  name: 'update',
  recognise: (messages) => readUpdatePrompt(messages) !== undefined,
  read: (messages) => {
    const { facts, existingMemories } = updateOf(messages);
    return { newMessages: facts, existingMemories };
  },
  view: (messages) => {
    const prompt = readUpdatePrompt(messages);
    return prompt === undefined ? messages : renderUpdateView(prompt);
  },
  check: checkUpdate,
  compose: (texts, messages) => {
    if (messages === undefined) throw new Error('an update answers the facts of its request');
    const { facts, existingMemories } = updateOf(messages);
    const kept = facts.filter((fact) => texts.includes(fact));
    const memory = kept.map((text, i) => ({
      id: String(existingMemories.length + i),
      text,
      event: 'ADD',
    }));
    return composeJson({ memory });
  },
  misname: (kind, messages) => {
    const [first] = updateOf(messages).existingMemories;
    const update = (id: string) => ({ id, text: 'renamed', event: 'UPDATE' });
    if (kind === 'unknown-id') return JSON.stringify({ memory: [update('999')] });
    return first && JSON.stringify({ memory: [update(first.id), update(first.id)] });
  },
};

function checkUpdate(answer: string, messages: readonly ChatMessage[]): AnswerVerdict {
  const read = readShapedAnswer(answer, updateAnswer, ['event']);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const offered = new Set(updateOf(messages).existingMemories.map(({ id }) => id));
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
  const asked = new Set(requests.flatMap(({ messages }) => updateOf(messages).facts));
  const lost = found.filter((fact) => !asked.has(fact));
  if (lost.length > 0) {
    throw new FaultError(
      'harness',
      `failed write: ${lost.length} of ${found.length} facts never came to a decision`,
    );
  }
  return { requests, optional: [] };
}

function factsOf(messages: readonly ChatMessage[]): FactsPrompt {
  const prompt = readFactsPrompt(messages);
  if (prompt === undefined) throw new Error('not a fact request of mem0ai 1.0.11');
  return prompt;
}

function updateOf(messages: readonly ChatMessage[]): UpdatePrompt {
  const prompt = readUpdatePrompt(messages);
  if (prompt === undefined) throw new Error('not an update request of mem0ai 1.0.11');
  return prompt;
}
