/** Hy-Memory's working and coding scenes: experiences and one fact are extracted; merges decide, a chain is summarised. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import { FaultError } from '../../../core/outcome.ts';
import type { CheckedCall, Stage, WriteEffect } from '../../../core/stage.ts';
import { composeJson, malformed, readShapedAnswer } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { sectionView } from '../../section-view.ts';
import { readSummary, readTaskExtract, type TaskExtractPrompt } from './prompts-tasks.ts';
import { experienceMergeStage, experienceRequests, factMergeStage } from './stages-merge.ts';

type TaskScene = 'working' | 'coding';

const experienceSchema = z.strictObject({
  task: z.string().min(1),
  search_keys: z.array(z.string().min(1)).min(1).max(5),
  solution: z.string().min(1),
  boundary_envs: z.string(),
  confidence: z.number().min(0).max(1),
});
const extractAnswer = z.strictObject({
  experiences: z.array(experienceSchema),
  fact: z
    .strictObject({
      subject: z.string().optional(),
      statement: z.string().min(1),
      files: z.array(z.string()),
      details: z.string().optional(),
    })
    .nullable(),
});

/** `<|hy.working.extract|>` or `<|hy.coding.extract|>`, `<|last|>…<|new|>[position] role: text…` */
export function renderTaskExtractView(scene: TaskScene, prompt: TaskExtractPrompt): ChatMessage[] {
  return sectionView(`<|hy.${scene}.extract|>`, [
    ['<|last|>', [prompt.last]],
    ['<|new|>', prompt.newMessages],
  ]);
}

export function taskExtractStage(scene: TaskScene): Stage {
  const { stage, promptOf } = promptStage(
    'extract',
    (messages) => readTaskExtract(scene, messages),
    (prompt) => renderTaskExtractView(scene, prompt),
  );
  return {
    ...stage,
    read: (messages) => ({ newMessages: promptOf(messages).newMessages, existingMemories: [] }),
    check: (answer) => {
      const read = readShapedAnswer(answer, extractAnswer);
      return read.kind === 'value'
        ? { kind: 'well-formed', operations: [] }
        : malformed(...read.reasons);
    },
    // One text is the write's fact; each further one an experience, listed as task, line break and solution.
    compose: ([fact, ...texts]) =>
      composeJson({
        experiences: texts.map((text) => ({
          task: text,
          search_keys: [text.slice(0, 40)],
          solution: text,
          boundary_envs: '',
          confidence: 0.9,
        })),
        fact: fact === undefined ? null : { subject: '', statement: fact, files: [], details: '' },
      }),
  };
}

/** `<|hy.fact.summary|>`, `<|drafts|>(day) statement…` */
export function renderSummaryView(entries: readonly string[]): ChatMessage[] {
  return sectionView('<|hy.fact.summary|>', [['<|drafts|>', entries]]);
}

const summary = promptStage('fact.summary', readSummary, renderSummaryView);

export const factSummaryStage: Stage = {
  ...summary.stage,
  read: (messages) => ({ newMessages: summary.promptOf(messages), existingMemories: [] }),
  // Any text is taken as it is; it is kept beside the fact and is no memory of its own.
  check: () => ({ kind: 'well-formed', operations: [] }),
  compose: (_texts, messages) => summary.promptOf(messages).join(' '),
};

/**
 * Experiences as the merge decides, as `task`, line break, `solution`; the fact is always stored, and those that it
 * supersedes leave the active ones.
 */
export function effectOfTask(calls: readonly CheckedCall[]): WriteEffect {
  const of = (name: string) => calls.filter(({ stage }) => stage === name);
  const drafts = of('extract').flatMap(({ answer }) => {
    const read = readShapedAnswer(answer, extractAnswer);
    return read.kind === 'value' ? [read.value] : [];
  });
  const texts = drafts.flatMap(({ experiences }) =>
    experiences.map(({ task, solution }) => `${task}\n${solution}`),
  );
  const facts = drafts.flatMap(({ fact }) => (fact === null ? [] : [fact.statement]));
  const merges = of(experienceMergeStage.name);
  // The framework asks even where nothing is near.
  if (texts.length > 0 && merges.length === 0) {
    throw new FaultError('harness', `failed write: ${texts.length} drafts, none was decided`);
  }
  const operations = merges.flatMap(({ answer }) => experienceRequests(answer, texts));
  return {
    requests: [
      { operations, offered: merges.flatMap(({ offered }) => offered) },
      ...of(factMergeStage.name),
      { operations: facts.map((text) => ({ kind: 'add', text })), offered: [] },
    ],
    optional: [],
  };
}
