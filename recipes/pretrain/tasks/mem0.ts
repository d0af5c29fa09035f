/** Mem0's requests: the one call of the Node SDK and of Python's 2.x, and the two calls of 1.x. */
import { checkMem0Answer } from '../../../src/harness/adapters/mem0/answer.ts';
import {
  lastMessagesOf,
  type Mem0Prompt,
  readMem0Prompt,
} from '../../../src/harness/adapters/mem0/prompt.ts';
import { renderMem0View } from '../../../src/harness/adapters/mem0/view.ts';
import {
  type FactsPrompt,
  readFactsPrompt,
  readUpdatePrompt,
  type UpdatePrompt,
} from '../../../src/harness/adapters/mem0-python/prompt-1x.ts';
import { PYTHON } from '../../../src/harness/adapters/mem0-python/stage-2x.ts';
import {
  checkUpdate,
  factsStage,
  renderFactsView,
  renderUpdateView,
} from '../../../src/harness/adapters/mem0-python/stages-1x.ts';
import { composeJson } from '../../../src/harness/json-answer.ts';
import { nearest } from '../nearest.ts';
import type { Extraction, Kept, Merge } from './contract.ts';
import { decide } from './memories.ts';
import { dayOf, line } from './messages.ts';

/** Memories that the SDK shows: of the whole request, and of each fact. */
const EXTRACT_HITS = 10;
const UPDATE_HITS = 5;
const EVERY_SCENE = ['chat', 'working', 'coding'] as const;

export const mem0Extract: Extraction<Mem0Prompt> = {
  kind: 'extraction',
  name: 'mem0.extract',
  scenes: EVERY_SCENE,
  read: (messages) => readMem0Prompt(messages) ?? readMem0Prompt(messages, PYTHON),
  view: renderMem0View,
  check: checkMem0Answer,
  prompt: async ({ at, messages, earlier, kept }) => ({
    lastMessages: lastMessagesOf(
      earlier.map((write) => write.map(({ role, text: content }) => ({ role, content }))),
    ),
    existingMemories: numbered(
      await nearTexts(messages.map(({ text }) => text).join('\n'), kept, EXTRACT_HITS),
    ),
    newMessages: messages.map(line),
    date: dayOf(at),
  }),
  known: ({ lastMessages, existingMemories }) => [
    ...existingMemories.map(({ text }) => text),
    ...lastMessages,
  ],
  write: (memories) =>
    composeJson({
      memory: memories.map(({ text, attributedTo }, i) => ({
        id: String(i),
        text,
        attributed_to: attributedTo,
      })),
    }),
  texts: (answer) => JSON.parse(answer).memory.map(({ text }: { text: string }) => text),
};

export const mem0Facts: Extraction<FactsPrompt> = {
  kind: 'extraction',
  name: 'mem0-1x.facts',
  scenes: EVERY_SCENE,
  read: readFactsPrompt,
  view: renderFactsView,
  check: (answer) => factsStage.check(answer, []),
  // 1.x leaves messages of tools out.
  prompt: async ({ at, messages }) => ({
    newMessages: messages.filter(({ role }) => role !== 'tool').map(line),
    date: dayOf(at),
  }),
  known: () => [],
  shows: ({ family }) => family !== 'tool',
  write: (memories) => composeJson({ facts: memories.map(({ text }) => text) }),
  texts: (answer) => JSON.parse(answer).facts,
};

export const mem0Update: Merge<UpdatePrompt> = {
  kind: 'merge',
  name: 'mem0-1x.update',
  scenes: EVERY_SCENE,
  read: readUpdatePrompt,
  view: renderUpdateView,
  check: checkUpdate,
  prompt: async (drafts, { kept }) => {
    if (drafts.length === 0) return undefined;
    const facts = drafts.map(({ text }) => text);
    const found = await Promise.all(facts.map((fact) => nearTexts(fact, kept, UPDATE_HITS)));
    return { existingMemories: numbered([...new Set(found.flat())]), facts };
  },
  decide: ({ existingMemories, facts }) => {
    const decisions = decide(
      facts,
      existingMemories.map(({ text }) => text),
    );
    return composeJson({
      memory: decisions.map((decision, i) => ({
        id: String(decision.kind === 'add' ? existingMemories.length + i : decision.target),
        text: facts[i],
        event: decision.kind.toUpperCase(),
      })),
    });
  },
};

async function nearTexts(query: string, kept: readonly Kept[], limit: number): Promise<string[]> {
  const texts = [...new Set(kept.map(({ text }) => text))];
  const found = await nearest(query, texts, { limit });
  return found.map(({ index }) => texts[index] as string);
}

function numbered(texts: readonly string[]): { id: string; text: string }[] {
  return texts.map((text, i) => ({ id: String(i), text }));
}
