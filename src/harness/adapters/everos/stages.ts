/** EverOS's four calls a write: cut the conversation, narrate each piece, list its facts, keep the user's profile. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type {
  AnswerVerdict,
  RequestedOperation,
  Stage,
  StageRequest,
} from '../../../core/stage.ts';
import { composeJson, malformed, readShapedAnswer, type Shaped } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { numbered, sectionView } from '../../section-view.ts';
import {
  type BoundaryPrompt,
  type EpisodePrompt,
  type FactsPrompt,
  PROFILE_TYPES,
  type ProfileItem,
  type ProfilePrompt,
  readBoundary,
  readEpisode,
  readFacts,
  readProfile,
} from './prompts.ts';

/** `<|everos.boundary|>`, `<|new|>[position] [time] speaker: text…` */
export function renderBoundaryView({ newMessages }: BoundaryPrompt): ChatMessage[] {
  return sectionView('<|everos.boundary|>', [['<|new|>', newMessages]]);
}

const boundaryAnswer = z.strictObject({
  reasoning: z.string().optional(),
  boundaries: z.array(z.int()),
  /** Has to be there; its value is not used. */
  should_wait: z.boolean(),
});

const boundary = promptStage('boundary', readBoundary, renderBoundaryView);

export const boundaryStage: Stage = {
  ...boundary.stage,
  read: (messages) => ({
    newMessages: boundary.promptOf(messages).newMessages,
    existingMemories: [],
  }),
  check: (answer, messages) => checkBoundary(answer, boundary.promptOf(messages)),
  compose: () => JSON.stringify({ reasoning: '', boundaries: [], should_wait: false }),
};

/** A cut outside of the conversation is dropped, and cuts out of order are sorted: neither is the answer's own. */
export function checkBoundary(answer: string, { newMessages }: BoundaryPrompt): AnswerVerdict {
  const read = readBraced(answer, boundaryAnswer);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const { boundaries } = read.value;
  const rising = boundaries.every((cut, i) => i === 0 || cut > Number(boundaries[i - 1]));
  const within = boundaries.every((cut) => cut >= 1 && cut < newMessages.length);
  return rising && within ? { kind: 'well-formed', operations: [] } : malformed('schema-invalid');
}

/** `<|everos.episode|>`, `<|new|>speaker: text…<|date|>start` */
export function renderEpisodeView({ newMessages, start }: EpisodePrompt): ChatMessage[] {
  return sectionView('<|everos.episode|>', [
    ['<|new|>', newMessages],
    ['<|date|>', [start]],
  ]);
}

/** A line like a heading ends the stored text: what follows it is lost. */
const HEADING = /^### /m;
const storedText = z
  .string()
  .min(1)
  .refine((one) => !HEADING.test(one));
const episodeAnswer = z.strictObject({
  title: z.string(),
  content: storedText,
  summary: z.string().optional(),
});

const episode = promptStage('episode', readEpisode, renderEpisodeView);

export const episodeStage: Stage = {
  ...episode.stage,
  // The narrative is one text: the whole conversation is what is new in it.
  read: (messages) => ({
    newMessages: [episode.promptOf(messages).newMessages.join('\n')],
    existingMemories: [],
  }),
  check: (answer) => {
    const read = readBraced(answer, episodeAnswer);
    return read.kind === 'malformed'
      ? malformed(...read.reasons)
      : { kind: 'well-formed', operations: [{ kind: 'add', text: read.value.content }] };
  },
  // There is an episode in any case.
  compose: ([first]) =>
    escapeBraces({ title: 'Conversation', content: first ?? 'Nothing to remember was said.' }),
};

/** `<|everos.facts|>`, `<|new|>episode<|date|>time` */
export function renderFactsView({ episode, time }: FactsPrompt): ChatMessage[] {
  return sectionView('<|everos.facts|>', [
    ['<|new|>', [episode]],
    ['<|date|>', [time]],
  ]);
}

const factsAnswer = z.strictObject({
  atomic_facts: z.strictObject({ time: z.string().min(1), atomic_fact: z.array(storedText) }),
});

const facts = promptStage('facts', readFacts, renderFactsView);

export const factsStage: Stage = {
  ...facts.stage,
  read: (messages) => ({
    newMessages: [facts.promptOf(messages).episode],
    existingMemories: [],
  }),
  check: (answer) => {
    const read = readBraced(answer, factsAnswer);
    if (read.kind === 'malformed') return malformed(...read.reasons);
    const facts = read.value.atomic_facts.atomic_fact;
    return { kind: 'well-formed', operations: facts.map((text) => ({ kind: 'add', text })) };
  },
  // The first text is the episode itself.
  compose: (texts) =>
    escapeBraces({ atomic_facts: { time: 'unknown', atomic_fact: texts.slice(1) } }),
};

/** `<|everos.profile|>`, `<|profile|>type position fields…<|new|>[time] speaker: text…` */
export function renderProfileView({ current, newMessages }: ProfilePrompt): ChatMessage[] {
  const items = PROFILE_TYPES.flatMap((type) =>
    numbered((current?.[type] ?? []).map((item) => Object.values(item).join(' | '))).map(
      (line) => `${type} ${line}`,
    ),
  );
  return sectionView('<|everos.profile|>', [
    ['<|profile|>', items],
    ['<|new|>', newMessages],
  ]);
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
};

function readProfileRequest(messages: readonly ChatMessage[]): StageRequest {
  const { current, newMessages } = profile.promptOf(messages);
  const existingMemories = PROFILE_TYPES.flatMap((type) =>
    (current?.[type] ?? []).map((item, i) => ({ id: idOf(type, i), text: profileText(item) })),
  );
  return { newMessages, existingMemories };
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
export function checkProfileUpdate(
  answer: string,
  current: NonNullable<ProfilePrompt['current']>,
): AnswerVerdict {
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

function requestOf(
  operation: ProfileOperation,
  current: NonNullable<ProfilePrompt['current']>,
): RequestedOperation {
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

/** Braces inside of a string derail the framework's own search for the JSON; as escapes they pass. */
function readBraced<T>(
  answer: string,
  schema: z.ZodType<T>,
  operationKeys: readonly string[] = [],
): Shaped<T> {
  const literals = answer.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  if (literals.some((literal) => /[{}]/.test(literal))) {
    return { kind: 'malformed', reasons: ['unparsable'] };
  }
  return readShapedAnswer(answer, schema, operationKeys);
}

function escapeBraces(value: object): string {
  return composeJson(value).replace(/"(?:[^"\\]|\\.)*"/g, (literal) =>
    literal.replace(/[{}]/g, (brace) => `\\u00${brace.charCodeAt(0).toString(16)}`),
  );
}
