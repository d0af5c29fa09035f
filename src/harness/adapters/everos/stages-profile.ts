/** EverOS's calls about the user's profile: begin it, change it, compact it once it has grown long. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type {
  AnswerVerdict,
  RequestedOperation,
  Stage,
  StageRequest,
} from '../../../core/stage.ts';
import { malformed } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { numbered, sectionView } from '../../section-view.ts';
import { escapeBraces, readBraced } from './braces.ts';
import {
  PROFILE_TYPES,
  type Profile,
  type ProfileItem,
  type ProfilePrompt,
  readCompact,
  readProfile,
} from './prompts.ts';

/** `<|everos.profile|>`, `<|profile|>type position fields…<|new|>[time] speaker: text…`; no `<|profile|>` before there is one. */
export function renderProfileView({ current, newMessages }: ProfilePrompt): ChatMessage[] {
  return sectionView('<|everos.profile|>', [
    ...(current === undefined ? [] : ([['<|profile|>', itemLines(current)]] as const)),
    ['<|new|>', newMessages],
  ]);
}

function itemLines(profile: Profile): string[] {
  return PROFILE_TYPES.flatMap((type) =>
    numbered(profile[type].map(itemText)).map((line) => `${type} ${line}`),
  );
}

/** As it is listed, and the fields that no listing shows. */
function itemText(item: ProfileItem): string {
  const { category: _, trait: __, description: ___, ...others } = item;
  return [profileText(item), ...Object.values(others)].join(' | ');
}

const explicitSchema = z.strictObject({
  category: z.string().min(1),
  description: z.string().min(1),
  evidence: z.string(),
});
const implicitSchema = z.strictObject({
  trait: z.string().min(1),
  description: z.string().min(1),
  basis: z.string(),
  evidence: z.string(),
});
const firstProfileAnswer = z.strictObject({
  explicit_info: z.array(explicitSchema),
  implicit_traits: z.array(implicitSchema),
});
const typeSchema = z.enum(PROFILE_TYPES);
const profileOperation = z.union([
  z.strictObject({ action: z.literal('none') }),
  z.strictObject({
    action: z.literal('add'),
    type: z.literal('explicit_info'),
    data: explicitSchema,
  }),
  z.strictObject({
    action: z.literal('add'),
    type: z.literal('implicit_traits'),
    data: implicitSchema,
  }),
  z.strictObject({
    action: z.literal('update'),
    type: typeSchema,
    index: z.int().nonnegative(),
    data: z.record(z.string(), z.string()),
  }),
  z.strictObject({
    action: z.literal('delete'),
    type: typeSchema,
    index: z.int().nonnegative(),
    reason: z.string().optional(),
  }),
]);
type ProfileOperation = z.infer<typeof profileOperation>;
const profileUpdateAnswer = z.strictObject({
  operations: z.array(profileOperation),
  update_note: z.string().optional(),
});

const profile = promptStage('profile', readProfile, renderProfileView);

export const profileStage: Stage = {
  ...profile.stage,
  read: readProfileRequest,
  check: (answer, messages) => {
    const { current } = profile.promptOf(messages);
    return current === undefined ? checkFirstProfile(answer) : checkProfileUpdate(answer, current);
  },
  compose: (_texts, messages) => {
    return profile.promptOf(messages).current === undefined
      ? JSON.stringify({ explicit_info: [], implicit_traits: [] })
      : JSON.stringify({ operations: [{ action: 'none' }], update_note: '' });
  },
  // More than 45 items are compacted, in the write after the one that brought them.
  provoke: (messages) => {
    const { current } = profile.promptOf(messages);
    if (current === undefined) {
      return JSON.stringify({ explicit_info: manyItems(), implicit_traits: [] });
    }
    const isLong = namedItems(current).length >= TOO_MANY_ITEMS;
    return JSON.stringify({ operations: isLong ? [] : manyItems().map(addOperation) });
  },
};

const TOO_MANY_ITEMS = 46;

function manyItems(): z.infer<typeof explicitSchema>[] {
  return Array.from({ length: TOO_MANY_ITEMS }, (_, i) => ({
    category: 'note',
    description: `the user said ${i}`,
    evidence: '',
  }));
}

function addOperation(data: z.infer<typeof explicitSchema>): ProfileOperation {
  return { action: 'add', type: 'explicit_info', data };
}

function readProfileRequest(messages: readonly ChatMessage[]): StageRequest {
  const { current, newMessages } = profile.promptOf(messages);
  return { newMessages, existingMemories: current === undefined ? [] : namedItems(current) };
}

function namedItems(profile: Profile): StageRequest['existingMemories'] {
  return PROFILE_TYPES.flatMap((type) =>
    profile[type].map((item, i) => ({ id: idOf(type, i), text: profileText(item) })),
  );
}

export function checkFirstProfile(answer: string): AnswerVerdict {
  const read = readBraced(answer, firstProfileAnswer);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const items = [...read.value.explicit_info, ...read.value.implicit_traits];
  return {
    kind: 'well-formed',
    operations: items.map((item) => ({ kind: 'add', text: profileText(item) })),
  };
}

/** An unknown index is ignored; a deletion moves the indices of the operations after it. */
export function checkProfileUpdate(answer: string, current: Profile): AnswerVerdict {
  const read = readBraced(answer, profileUpdateAnswer, ['action']);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const { operations } = read.value;
  const touched = operations.flatMap((one) => ('index' in one ? [one] : []));
  if (touched.some(({ type, index }) => current[type][index] === undefined)) {
    return malformed('unknown-id');
  }
  const names = touched.map(({ type, index }) => idOf(type, index));
  const deleted = operations.findIndex(({ action }) => action === 'delete');
  const shifted = deleted !== -1 && operations.slice(deleted + 1).some((one) => 'index' in one);
  if (new Set(names).size < names.length || shifted) return malformed('schema-invalid');
  return { kind: 'well-formed', operations: operations.map((one) => requestOf(one, current)) };
}

function requestOf(operation: ProfileOperation, current: Profile): RequestedOperation {
  switch (operation.action) {
    case 'none':
      return { kind: 'none' };
    case 'add':
      return { kind: 'add', text: profileText(operation.data) };
    case 'update': {
      const { type, index, data } = operation;
      const text = profileText({ ...current[type][index], ...data });
      return { kind: 'update', id: idOf(type, index), text };
    }
    case 'delete':
      return { kind: 'remove', id: idOf(operation.type, operation.index) };
    default:
      return operation satisfies never;
  }
}

/** As the bridge lists an item. */
function profileText({ category, trait, description }: ProfileItem): string {
  return `${category ?? trait}: ${description}`;
}

function idOf(type: string, index: number): string {
  return `${type}/${index}`;
}

const compactedAnswer = firstProfileAnswer.extend({ compact_note: z.string().optional() });

/** `<|everos.profile-compact|>`, `<|profile|>type position fields…` */
export function renderCompactView(profile: Profile): ChatMessage[] {
  return sectionView('<|everos.profile-compact|>', [['<|profile|>', itemLines(profile)]]);
}

const compact = promptStage('profile-compact', readCompact, renderCompactView);

/** What it answers takes the place of the whole profile, the update before it included. */
export const profileCompactStage: Stage = {
  ...compact.stage,
  read: (messages) => ({
    newMessages: [],
    existingMemories: namedItems(compact.promptOf(messages)),
  }),
  check: (answer, messages) => checkCompact(answer, compact.promptOf(messages)),
  compose: (_texts, messages) => escapeBraces(compact.promptOf(messages)),
};

export function checkCompact(answer: string, profile: Profile): AnswerVerdict {
  const read = readBraced(answer, compactedAnswer);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const items = [...read.value.explicit_info, ...read.value.implicit_traits];
  return {
    kind: 'well-formed',
    operations: [
      ...namedItems(profile).map(({ id }): RequestedOperation => ({ kind: 'remove', id })),
      ...items.map((item): RequestedOperation => ({ kind: 'add', text: profileText(item) })),
    ],
  };
}
