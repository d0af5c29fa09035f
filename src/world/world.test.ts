import { describe, expect, test } from 'vitest';
import { annotatedItemSchema } from '../core/annotation.ts';
import { sessionSchema } from '../core/conversation.ts';
import { categorySchema } from '../core/exam.ts';
import { sha256 } from '../lib/hash.ts';
import { describeWorld } from './describe.ts';
import { worldOptionsSchema, worldPresets } from './options.ts';
import type { WorldUser } from './truth.ts';
import { splitOf } from './values.ts';
import { createWorld, createWorldUser } from './world.ts';

const USERS = 40;

function users(split: 'train' | 'eval'): WorldUser[] {
  return Array.from({ length: USERS }, (_, index) =>
    createWorldUser({ split, heldOutForms: split === 'eval' }, index),
  );
}
const trainUsers = users('train');
const evalUsers = users('eval');
const facts = (world: readonly WorldUser[]) =>
  world.flatMap(({ truth }) => truth.flatMap((session) => session.facts));

/** Every single word and pair of neighbours, without the punctuation at their ends. */
function runsOfWords(text: string): string[] {
  const tokens = text
    .toLowerCase()
    .split(/\s+/)
    .map((token) => token.replace(/[,;:]$/, ''));
  return [...tokens, ...tokens.slice(1).map((token, index) => `${tokens[index]} ${token}`)];
}

test('a user depends on seed, split and index alone', () => {
  const [few, many] = [createWorld({ users: 2, seed: 7 }), createWorld({ users: 5, seed: 7 })];
  expect(many.slice(0, 2)).toEqual(few);
  const { truth: _, ...stream } = createWorldUser({ seed: 7, users: 99 }, 1);
  expect(stream).toEqual(few[1]);
  expect(createWorldUser({ seed: 8 }, 1).sessions[0]?.messages).not.toEqual(
    few[1]?.sessions[0]?.messages,
  );
});

test.each([
  ['easy', 'bc8480cf0694625f'],
  ['demo', 'b9d332db5010f2ba'],
  ['hard', '390c6650553d6e5f'],
] as const)('%s is the world that the figures in the log were measured on', (preset, hash) => {
  const world = createWorld({ ...worldPresets[preset], users: 6, seed: 7 });
  expect(sha256(JSON.stringify(world)).slice(0, 16)).toBe(hash);
});

test('further sessions leave the earlier ones as they are', () => {
  const short = createWorldUser({ sessionsPerUser: 3 }, 0);
  const long = createWorldUser({ sessionsPerUser: 6 }, 0);
  expect(long.sessions.slice(0, 3)).toEqual(short.sessions);
  expect(long.truth.slice(0, 3)).toEqual(short.truth);
});

test.each(['easy', 'demo', 'hard'] as const)('%s yields what the schemas accept', (preset) => {
  for (const { sessions, items, userId } of createWorld({ ...worldPresets[preset], users: 10 })) {
    for (const session of sessions) {
      expect(sessionSchema.strict().parse(session)).toEqual(session);
      expect(session.userId).toBe(userId);
      expect(session.messages).toHaveLength(2 * (preset === 'hard' ? 8 : 7));
    }
    for (const item of items) expect(annotatedItemSchema.parse(item)).toEqual(item);
  }
});

test('sessions follow each other in time, and their local day is the UTC day', () => {
  for (const { sessions } of trainUsers) {
    const times = sessions.map(({ at }) => Date.parse(at));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    for (const { at } of sessions) {
      expect(at).toMatch(/[+-]\d{2}:\d{2}$/);
      expect(new Date(at).toISOString().slice(0, 10)).toBe(at.slice(0, 10));
    }
  }
});

test('ids are unique and evidence cites messages of the stream, never later than the scored one', () => {
  const all = evalUsers;
  const itemIds = all.flatMap(({ items }) => items.map(({ id }) => id));
  expect(new Set(itemIds).size).toBe(itemIds.length);
  for (const { sessions, items } of all) {
    const order = sessions.flatMap(({ messages }) => messages.map(({ id }) => id));
    expect(new Set(order).size).toBe(order.length);
    for (const item of items) {
      const cited =
        item.kind === 'question'
          ? item.goldFacts.flatMap(({ messageIds }) => messageIds)
          : [item.scoredMessageId, ...(item.kind === 'recall' ? item.messageIds : [])];
      expect(cited.every((id) => order.includes(id))).toBe(true);
      if (item.kind !== 'recall') continue;
      const scored = order.indexOf(item.scoredMessageId);
      expect(item.messageIds.every((id) => order.indexOf(id) <= scored)).toBe(true);
      expect(item.messageIds).toContain(item.scoredMessageId);
    }
  }
});

test('questions lean on at least two chunks', () => {
  const sessionOf = (messageId: string) => messageId.replace(/-m\d+$/, '');
  const questions = trainUsers.flatMap(({ items }) =>
    items.filter((item) => item.kind === 'question'),
  );
  expect(questions.length).toBeGreaterThan(USERS);
  for (const { goldFacts } of questions) {
    const sources = new Set(goldFacts.map(({ messageIds }) => sessionOf(messageIds[0] ?? '')));
    expect(sources.size).toBe(goldFacts.length);
  }
});

test('a value of evaluation never occurs in training, as a value or as words of its texts', () => {
  const [train, evaluation] = [trainUsers, evalUsers];
  const cores = (world: readonly WorldUser[]) =>
    facts(world).flatMap(({ values }) => Object.values(values).map(({ core }) => core));
  expect(new Set(cores(train).map(splitOf))).toEqual(new Set(['train']));
  expect(new Set(cores(evaluation).map(splitOf))).toEqual(new Set(['eval']));
  const spoken = new Set(
    train.flatMap(({ sessions }) =>
      sessions.flatMap(({ messages }) => messages.flatMap(({ text }) => runsOfWords(text))),
    ),
  );
  const leaked = new Set(cores(evaluation).filter((core) => spoken.has(core.toLowerCase())));
  expect([...leaked]).toEqual([]);
});

test('held-out forms are told in evaluation only, and only on request', () => {
  const forms = (world: readonly WorldUser[]) => new Set(facts(world).map(({ form }) => form));
  expect(forms(trainUsers)).toEqual(new Set(['seen']));
  expect(forms(evalUsers)).toEqual(new Set(['seen', 'held-out']));
  expect(forms([createWorldUser({ split: 'eval' }, 0)])).toEqual(new Set(['seen']));
  expect(worldOptionsSchema.safeParse({ heldOutForms: true }).success).toBe(false);
});

test('every category, kind of value and way of telling is present', () => {
  const described = describeWorld(trainUsers);
  const recallCategories = categorySchema.options.filter((name) => name !== 'should-not-store');
  expect(Object.keys(described.categories).sort()).toEqual(recallCategories.sort());
  expect(described.shareOfChunksWithTrap).toBeGreaterThan(0.8);
  expect(Object.keys(described.valueKinds)).toEqual([
    'amount',
    'anchor',
    'code',
    'date',
    'name',
    'number',
    'path',
    'time',
    'version',
    'word',
  ]);
  expect(Object.keys(described.tellings)).toEqual([
    'change',
    'correction',
    'pair',
    'plain',
    'reference',
    'repeat',
  ]);
  expect(facts(trainUsers).some(({ speaker }) => speaker === 'assistant')).toBe(true);
});

test('texts are short enough for a small model', () => {
  const described = describeWorld(trainUsers);
  expect(described.wordsPerChunk.max).toBeLessThan(130);
  expect(described.wordsPerIdealMemory.mean).toBeLessThan(8);
  expect(described.wordsPerIdealMemory.max).toBeLessThanOrEqual(11);
});

test('of a mixed world a third talks, a third works through tools, a third programs', () => {
  const scenes = createWorld({ scene: 'mixed', users: 6 }).map(({ sessions }) => [
    ...new Set(sessions.map(({ scene }) => scene)),
  ]);
  const thirds = [['chat'], ['working'], ['coding']];
  expect(scenes).toEqual([...thirds, ...thirds]);
  expect(createWorldUser({ scene: 'mixed' }, 1).sessions).toEqual(
    createWorldUser({ scene: 'working' }, 1).sessions,
  );
});

describe.each(['working', 'coding'] as const)('%s sessions', (scene) => {
  const world = Array.from({ length: USERS }, (_, index) =>
    createWorldUser({ ...worldPresets.hard, scene, sessionsPerUser: 9 }, index),
  );

  test('each has a tool turn, in the shape of sessions from outside', () => {
    for (const session of world.flatMap(({ sessions }) => sessions)) {
      expect(sessionSchema.strict().parse(session)).toEqual(session);
      expect(session.messages.filter(({ role }) => role === 'user')).toHaveLength(8);
      const calls = session.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
      const results = session.messages.flatMap(({ toolCallId = [] }) => toolCallId);
      expect(calls.length).toBeGreaterThan(0);
      expect(results).toEqual(calls);
    }
  });

  test('what a tool found out stands in its result alone', () => {
    const told = world.flatMap(({ sessions, truth }) =>
      truth.flatMap(({ facts: all }, index) =>
        all
          .filter(({ family }) => family === 'tool')
          .map((fact) => ({ fact, messages: sessions[index]?.messages ?? [] })),
      ),
    );
    expect(told.length).toBeGreaterThan(world.length);
    for (const { fact, messages } of told) {
      const holding = messages.filter(({ text }) => text.includes(fact.values.v?.text ?? '?'));
      expect(holding.map(({ id, role }) => [id, role])).toEqual([[fact.scoredMessageId, 'tool']]);
    }
  });
});

test('options that contradict each other are refused with their field', () => {
  const refused = (input: unknown) =>
    worldOptionsSchema.safeParse(input).error?.issues.map(({ path }) => path.join('.'));
  expect(refused({ factsPerChunk: { min: 3, max: 2 } })).toEqual(['factsPerChunk']);
  expect(refused({ turnsPerSession: 3, factsPerChunk: { min: 1, max: 4 } })).toEqual([
    'factsPerChunk',
  ]);
  expect(refused({ user: 3 })).toEqual(['']);
});
