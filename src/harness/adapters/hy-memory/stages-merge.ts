/** Hy-Memory's merges of its working and coding scenes: drafts of experiences, and of the one fact, against what is near. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type {
  AnswerVerdict,
  RequestedOperation,
  Stage,
  StageRequest,
} from '../../../core/stage.ts';
import { malformed, readShapedAnswer } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { numbered, sectionView } from '../../section-view.ts';
import { idsFromPositions, NOBODY } from './positions.ts';
import {
  type Candidate,
  type MergePrompt,
  readExperienceMerge,
  readFactMerge,
} from './prompts-tasks.ts';

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

const experience = promptStage('experience.reconcile', readExperienceMerge, (prompt) =>
  renderMergeView('<|hy.experience.reconcile|>', prompt),
);

export const experienceMergeStage: Stage = {
  ...experience.stage,
  read: (messages) => readMerge(experience.promptOf(messages)),
  fromView: (answer, messages) =>
    idsFromPositions(answer, idsOf(experience.promptOf(messages)), ['target_experience_id']),
  check: (answer, messages) => checkExperiences(answer, experience.promptOf(messages)),
  compose: (_texts, messages) => {
    const { drafts } = experience.promptOf(messages);
    return JSON.stringify({ ops: drafts.map((_, i) => ({ draft_idx: i, action: 'ADD' })) });
  },
  misname: (kind, messages) => {
    const { drafts, candidates } = experience.promptOf(messages);
    const [first] = candidates;
    const ops = drafts.map((_, draft_idx) => ({ draft_idx, action: 'ADD' }));
    const remove = (target_experience_id: string) => ({ action: 'DELETE', target_experience_id });
    if (kind === 'unknown-id') return JSON.stringify({ ops: [...ops, remove(NOBODY)] });
    return first && JSON.stringify({ ops: [...ops, remove(first.id), remove(first.id)] });
  },
};

/** Each draft once, a draft that is left out would be added; each target once, and offered for its draft. */
export function checkExperiences(
  answer: string,
  { drafts, candidates }: MergePrompt,
): AnswerVerdict {
  const read = readShapedAnswer(answer, experienceAnswer, ['action']);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const { ops } = read.value;
  const decided = ops.flatMap((one) => (one.action === 'DELETE' ? [] : [one.draft_idx]));
  const named = ops.flatMap((one) => ('target_experience_id' in one ? [one] : []));
  const offered = named.every(({ target_experience_id: id, draft_idx: draft, action }) =>
    candidates.some((one) => one.id === id && (action === 'DELETE' || one.draft === draft)),
  );
  if (!offered) return malformed('unknown-id');
  const targets = named.map((one) => one.target_experience_id);
  if (new Set(targets).size < targets.length) return malformed('schema-invalid');
  const whole = decided.length === drafts.length && new Set(decided).size === drafts.length;
  if (!whole || decided.some((index) => index >= drafts.length)) {
    return malformed('missing-field');
  }
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

const fact = promptStage('fact.reconcile', readFactMerge, (prompt) =>
  renderMergeView('<|hy.fact.reconcile|>', prompt),
);

export const factMergeStage: Stage = {
  ...fact.stage,
  read: (messages) => readMerge(fact.promptOf(messages)),
  fromView: (answer, messages) =>
    idsFromPositions(answer, idsOf(fact.promptOf(messages)), ['supersedes']),
  check: (answer, messages) => checkFacts(answer, fact.promptOf(messages)),
  compose: () => JSON.stringify({ ops: [] }),
  misname: (kind, messages) => {
    const [first] = fact.promptOf(messages).candidates;
    const of = (...supersedes: string[]) => JSON.stringify({ ops: [{ draft_idx: 0, supersedes }] });
    return kind === 'unknown-id' ? of(NOBODY) : first && of(first.id, first.id);
  },
  // A chain of more than one fact is summarised.
  provoke: (messages) => {
    const [first] = fact.promptOf(messages).candidates;
    return first && JSON.stringify({ ops: [{ draft_idx: first.draft, supersedes: [first.id] }] });
  },
};

/** Each draft once; each superseded fact once, and offered for its draft. */
export function checkFacts(answer: string, { drafts, candidates }: MergePrompt): AnswerVerdict {
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
}

/** What a well-formed merge does with the drafts, as they would be listed. */
export function experienceRequests(
  answer: string,
  drafts: readonly string[],
): RequestedOperation[] {
  const read = readShapedAnswer(answer, experienceAnswer);
  return read.kind === 'value' ? read.value.ops.map((one) => experienceRequest(one, drafts)) : [];
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

function readMerge({ drafts, candidates }: MergePrompt): StageRequest {
  return {
    newMessages: drafts.map(textOfFields),
    existingMemories: candidates.map(({ id, fields }) => ({ id, text: textOfFields(fields) })),
  };
}

/** As it is listed: a fact is its statement, an experience its task and solution. */
function textOfFields({ statement, task, solution }: Candidate['fields']): string {
  return statement ?? `${task}\n${solution}`;
}

function idsOf({ candidates }: MergePrompt): string[] {
  return candidates.map(({ id }) => id);
}
