/** Hy-Memory's working and coding scenes: experiences and one fact are extracted, each kind merged, a chain summarised. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type {
  AnswerVerdict,
  CheckedCall,
  RequestedOperation,
  Stage,
  WriteEffect,
} from '../../../core/stage.ts';
import { composeJson, malformed, readShapedAnswer } from '../../json-answer.ts';
import { numbered, sectionView } from '../../section-view.ts';
import { idsFromPositions, NOBODY } from './positions.ts';
import {
  type Candidate,
  type MergePrompt,
  readExperienceMerge,
  readFactMerge,
  readSummary,
  readTaskExtract,
  type TaskExtractPrompt,
} from './prompts-tasks.ts';

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
  return {
    name: 'extract',
    recognise: (messages) => readTaskExtract(scene, messages) !== undefined,
    read: (messages) => {
      const prompt = readTaskExtract(scene, messages);
      if (prompt === undefined) throw new Error(`not a ${scene} extraction of Hy-Memory 2.0.6`);
      return { newMessages: prompt.newMessages, existingMemories: [] };
    },
    view: (messages) => {
      const prompt = readTaskExtract(scene, messages);
      return prompt === undefined ? messages : renderTaskExtractView(scene, prompt);
    },
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

const draftIndex = z.int().nonnegative();
const experienceOperation = z.discriminatedUnion('action', [
  z.strictObject({
    action: z.literal('ADD'),
    draft_idx: draftIndex,
    reason: z.string().optional(),
  }),
  z.strictObject({
    action: z.literal('UPDATE'),
    draft_idx: draftIndex,
    target_experience_id: z.string(),
    reason: z.string().optional(),
  }),
  z.strictObject({
    action: z.literal('DELETE'),
    draft_idx: draftIndex.optional(),
    target_experience_id: z.string(),
    reason: z.string().optional(),
  }),
  z.strictObject({
    action: z.literal('SKIP'),
    draft_idx: draftIndex,
    reason: z.string().optional(),
  }),
]);
type ExperienceOperation = z.infer<typeof experienceOperation>;
const experienceAnswer = z.strictObject({ ops: z.array(experienceOperation) });

/** `<|hy.experience.reconcile|>` or `<|hy.fact.reconcile|>`, `<|existing|>0 for draft 0 | field…<|drafts|>0 field…` */
export function renderMergeView(
  task: '<|hy.experience.reconcile|>' | '<|hy.fact.reconcile|>',
  { drafts, candidates }: MergePrompt,
): ChatMessage[] {
  return sectionView(task, [
    [
      '<|existing|>',
      numbered(
        candidates.map(({ draft, fields }) =>
          [`for draft ${draft}`, ...Object.values(fields)].join(' | '),
        ),
      ),
    ],
    ['<|drafts|>', numbered(drafts.map((fields) => Object.values(fields).join(' | ')))],
  ]);
}

export const experienceMergeStage: Stage = {
  ...mergeStage('experience.reconcile', '<|hy.experience.reconcile|>', readExperienceMerge),
  fromView: (answer, messages) =>
    idsFromPositions(answer, idsOf(readExperienceMerge(messages)), ['target_experience_id']),
  check: (answer, messages) => {
    const { drafts, candidates } = mergeOf(readExperienceMerge(messages));
    const read = readShapedAnswer(answer, experienceAnswer, ['action']);
    if (read.kind === 'malformed') return malformed(...read.reasons);
    return checkExperiences(read.value.ops, drafts.length, candidates);
  },
  compose: (_texts, messages) => {
    if (messages === undefined) throw new Error('a merge answers the drafts of its request');
    const { drafts } = mergeOf(readExperienceMerge(messages));
    return JSON.stringify({ ops: drafts.map((_, i) => ({ draft_idx: i, action: 'ADD' })) });
  },
  misname: (kind, messages) => {
    const { drafts, candidates } = mergeOf(readExperienceMerge(messages));
    const [first] = candidates;
    const ops = drafts.map((_, draft_idx) => ({ draft_idx, action: 'ADD' }));
    const remove = (target_experience_id: string) => ({ action: 'DELETE', target_experience_id });
    if (kind === 'unknown-id') return JSON.stringify({ ops: [...ops, remove(NOBODY)] });
    return first && JSON.stringify({ ops: [...ops, remove(first.id), remove(first.id)] });
  },
};

/** Each draft once, a draft that is left out would be added; each target once, and offered for its draft. */
function checkExperiences(
  ops: readonly ExperienceOperation[],
  drafts: number,
  candidates: readonly Candidate[],
): AnswerVerdict {
  const decided = ops.flatMap((one) => (one.action === 'DELETE' ? [] : [one.draft_idx]));
  const named = ops.flatMap((one) => ('target_experience_id' in one ? [one] : []));
  const offered = named.every(({ target_experience_id: id, draft_idx: draft, action }) =>
    candidates.some((one) => one.id === id && (action === 'DELETE' || one.draft === draft)),
  );
  if (!offered) return malformed('unknown-id');
  const targets = named.map((one) => one.target_experience_id);
  if (new Set(targets).size < targets.length) return malformed('schema-invalid');
  const whole = decided.length === drafts && new Set(decided).size === drafts;
  if (!whole || decided.some((index) => index >= drafts)) return malformed('missing-field');
  return { kind: 'well-formed', operations: [] };
}

const factAnswer = z.strictObject({
  ops: z.array(
    z.strictObject({
      draft_idx: draftIndex,
      supersedes: z.array(z.string()),
      reason: z.string().optional(),
    }),
  ),
});

export const factMergeStage: Stage = {
  ...mergeStage('fact.reconcile', '<|hy.fact.reconcile|>', readFactMerge),
  fromView: (answer, messages) =>
    idsFromPositions(answer, idsOf(readFactMerge(messages)), ['supersedes']),
  check: (answer, messages) => {
    const { drafts, candidates } = mergeOf(readFactMerge(messages));
    const read = readShapedAnswer(answer, factAnswer);
    if (read.kind === 'malformed') return malformed(...read.reasons);
    const named = read.value.ops.flatMap(({ draft_idx: draft, supersedes }) =>
      supersedes.map((id) => ({ draft, id })),
    );
    const offered = named.every(({ draft, id }) =>
      candidates.some((one) => one.id === id && one.draft === draft),
    );
    if (!offered) return malformed('unknown-id');
    const ids = named.map(({ id }) => id);
    const indices = read.value.ops.map(({ draft_idx: index }) => index);
    const repeated = new Set(ids).size < ids.length || new Set(indices).size < indices.length;
    if (repeated || indices.some((index) => index >= drafts.length)) {
      return malformed('schema-invalid');
    }
    return {
      kind: 'well-formed',
      operations: ids.map((id): RequestedOperation => ({ kind: 'remove', id })),
    };
  },
  compose: () => JSON.stringify({ ops: [] }),
  misname: (kind, messages) => {
    const [first] = mergeOf(readFactMerge(messages)).candidates;
    const of = (...supersedes: string[]) => JSON.stringify({ ops: [{ draft_idx: 0, supersedes }] });
    return kind === 'unknown-id' ? of(NOBODY) : first && of(first.id, first.id);
  },
  // A chain of more than one fact is summarised.
  provoke: (messages) => {
    const [first] = mergeOf(readFactMerge(messages)).candidates;
    return first && JSON.stringify({ ops: [{ draft_idx: first.draft, supersedes: [first.id] }] });
  },
};

/** `<|hy.fact.summary|>`, `<|drafts|>(day) statement…` */
export function renderSummaryView(entries: readonly string[]): ChatMessage[] {
  return sectionView('<|hy.fact.summary|>', [['<|drafts|>', entries]]);
}

export const factSummaryStage: Stage = {
  name: 'fact.summary',
  recognise: (messages) => readSummary(messages) !== undefined,
  read: (messages) => ({ newMessages: entriesOf(messages), existingMemories: [] }),
  view: (messages) => {
    const entries = readSummary(messages);
    return entries === undefined ? messages : renderSummaryView(entries);
  },
  // Any text is taken as it is; it is kept beside the fact and is no memory of its own.
  check: () => ({ kind: 'well-formed', operations: [] }),
  compose: (_texts, messages) =>
    messages === undefined ? 'no entries' : entriesOf(messages).join(' '),
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
  const decided = merges.flatMap(({ answer }) => {
    const read = readShapedAnswer(answer, experienceAnswer);
    return read.kind === 'value' ? read.value.ops : [];
  });
  // Drafts without a merge are expected all the same: that nobody asked is then a failed write.
  const operations =
    merges.length === 0
      ? texts.map((text): RequestedOperation => ({ kind: 'add', text }))
      : decided.map((one) => experienceRequest(one, texts));
  return {
    requests: [
      { operations, offered: merges.flatMap(({ offered }) => offered) },
      ...of(factMergeStage.name),
      { operations: facts.map((text) => ({ kind: 'add', text })), offered: [] },
    ],
    optional: [],
  };
}

function experienceRequest(
  operation: ExperienceOperation,
  texts: readonly string[],
): RequestedOperation {
  const textOf = (index: number): string => {
    const text = texts[index];
    if (text === undefined) throw new Error(`no draft ${index} was extracted`);
    return text;
  };
  switch (operation.action) {
    case 'ADD':
      return { kind: 'add', text: textOf(operation.draft_idx) };
    case 'UPDATE':
      return {
        kind: 'update',
        id: operation.target_experience_id,
        text: textOf(operation.draft_idx),
      };
    case 'DELETE':
      return { kind: 'remove', id: operation.target_experience_id };
    case 'SKIP':
      return { kind: 'none' };
    default:
      return operation satisfies never;
  }
}

function mergeStage(
  name: string,
  task: Parameters<typeof renderMergeView>[0],
  readPrompt: (messages: readonly ChatMessage[]) => MergePrompt | undefined,
): Pick<Stage, 'name' | 'recognise' | 'read' | 'view'> {
  return {
    name,
    recognise: (messages) => readPrompt(messages) !== undefined,
    read: (messages) => {
      const { drafts, candidates } = mergeOf(readPrompt(messages));
      return {
        newMessages: drafts.map(textOfFields),
        existingMemories: candidates.map(({ id, fields }) => ({ id, text: textOfFields(fields) })),
      };
    },
    view: (messages) => {
      const prompt = readPrompt(messages);
      return prompt === undefined ? messages : renderMergeView(task, prompt);
    },
  };
}

/** As it is listed: a fact is its statement, an experience its task and solution. */
function textOfFields({ statement, task, solution }: Candidate['fields']): string {
  return statement ?? `${task}\n${solution}`;
}

function idsOf(prompt: MergePrompt | undefined): string[] {
  return mergeOf(prompt).candidates.map(({ id }) => id);
}

function mergeOf(prompt: MergePrompt | undefined): MergePrompt {
  if (prompt === undefined) throw new Error('not a merge request of Hy-Memory 2.0.6');
  return prompt;
}

function entriesOf(messages: readonly ChatMessage[]): readonly string[] {
  const entries = readSummary(messages);
  if (entries === undefined) throw new Error('not a summary request of Hy-Memory 2.0.6');
  return entries;
}
