/** Where items end up: chunks, windows, or on record. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AnnotatedItem, UserStream } from '../core/annotation.ts';
import type { Window } from '../core/conversation.ts';
import { windowArtifactSchema } from '../core/exam.ts';
import { attachItems } from './attach.ts';

const AT = '2024-05-08T20:15:00Z';

/** Chunk i holds messages `i.0` and `i.1`; windows of five. */
function windowsWith(chunks: number): Window[] {
  const all = Array.from({ length: chunks }, (_, index) => ({
    id: `c${index}`,
    userId: 'ann',
    sessionId: 's',
    index,
    at: AT,
    scene: 'chat' as const,
    messages: [0, 1].map((m) => ({ id: `${index}.${m}`, role: 'user' as const, text: 'x' })),
    tokens: 1,
    oversized: false,
  }));
  return Array.from({ length: Math.ceil(chunks / 5) }, (_, index) => ({
    id: `w${index}`,
    userId: 'ann',
    index,
    chunks: all.slice(5 * index, 5 * index + 5),
  }));
}

const fields = {
  question: 'q?',
  reference: 'r',
  rubric: [{ id: 'c', text: 'States: r', weight: 1 }],
  facets: { source: 'test' },
};

function recall(id: string, messageIds: string[], scored = messageIds.at(-1) ?? ''): AnnotatedItem {
  return {
    kind: 'recall',
    id,
    ...fields,
    category: 'specificity',
    messageIds,
    scoredMessageId: scored,
  };
}

function question(id: string, facts: string[][], category = true): AnnotatedItem {
  return {
    kind: 'question',
    id,
    ...fields,
    ...(category ? { category: 'secondary-detail' as const } : {}),
    goldFacts: facts.map((messageIds, i) => ({
      id: `${id}.f${i}`,
      text: `fact ${i}`,
      weight: i + 1,
      messageIds,
    })),
  };
}

function trap(id: string, scoredMessageId: string): AnnotatedItem {
  return { kind: 'trap', id, ...fields, trapped: { all: ['x'], none: [] }, scoredMessageId };
}

function attach(items: readonly AnnotatedItem[], chunks = 12) {
  const stream: UserStream = { userId: 'ann', sessions: [], items };
  const { artifacts, unplaced } = attachItems(stream, windowsWith(chunks));
  for (const artifact of artifacts) windowArtifactSchema.parse(artifact);
  const find = (id: string) =>
    artifacts.flatMap(({ window, probes, questions }) =>
      [...probes, ...questions]
        .filter((item) => item.id === id)
        .map((item) => ({ window: window.id, item })),
    )[0];
  return { artifacts, unplaced, find };
}

test('every window has an artifact, also one about which nothing is asked', () => {
  const { artifacts } = attach([recall('a', ['6.0'])]);
  expect(artifacts.map(({ window, probes }) => [window.id, probes.length])).toEqual([
    ['w0', 0],
    ['w1', 1],
    ['w2', 0],
  ]);
});

test('a recall item probes its scored chunk; a transition also cites an earlier one', () => {
  const { find } = attach([recall('a', ['1.0', '7.1'], '7.1')]);
  expect(find('a')).toMatchObject({
    window: 'w1',
    item: { kind: 'recall', chunkId: 'c7', category: 'specificity', facets: { source: 'test' } },
  });
});

test('evidence that comes only after the scored chunk cannot be asked of it', () => {
  expect(attach([recall('a', ['1.0', '7.1'], '1.0')]).unplaced).toEqual([
    {
      itemId: 'a',
      kind: 'recall',
      layer: 'placement',
      reason: 'evidence-after-scored-chunk',
      detail: '7.1',
    },
  ]);
});

test('a trap probes the chunk that tempts', () => {
  expect(attach([trap('t', '3.0')]).find('t')).toMatchObject({
    window: 'w0',
    item: { kind: 'trap', chunkId: 'c3', category: 'should-not-store', trapped: { all: ['x'] } },
  });
});

test('a question is asked in the window of its latest evidence; earlier evidence is cited, not creditable', () => {
  const { find } = attach([question('q', [['2.0'], ['6.0'], ['8.1']])]);
  expect(find('q')).toMatchObject({
    window: 'w1',
    item: {
      kind: 'question',
      evidenceChunkIds: ['c2', 'c6', 'c8'],
      goldFacts: [
        { id: 'q.f1', chunkId: 'c6', weight: 2 },
        { id: 'q.f2', chunkId: 'c8', weight: 3 },
      ],
    },
  });
});

test('the source of a fact is the earliest chunk that asserts it: a repeat earns nothing', () => {
  const { find } = attach([question('q', [['9.0', '5.1', '6.0'], ['7.0']])]);
  expect(find('q')).toMatchObject({
    window: 'w1',
    item: { evidenceChunkIds: ['c5', 'c7'], goldFacts: [{ chunkId: 'c5' }, { chunkId: 'c7' }] },
  });
});

test('a question that one chunk answers is a recall probe of that chunk', () => {
  expect(attach([question('q', [['2.0'], ['2.1']])]).find('q')).toMatchObject({
    window: 'w0',
    item: { kind: 'recall', chunkId: 'c2', category: 'secondary-detail' },
  });
});

test('without a category such a question is on record, not given one', () => {
  expect(attach([question('q', [['2.0'], ['2.1']], false)]).unplaced).toMatchObject([
    { reason: 'one-chunk-question-without-category', detail: 'c2' },
  ]);
});

test.each([
  ['recall', recall('a', ['99.0'])],
  ['recall evidence', recall('a', ['99.0', '1.0'], '1.0')],
  ['trap', trap('a', '99.0')],
  ['question', question('a', [['1.0'], ['2.0', '99.0']])],
])('a message that no chunk holds puts the item on record: %s', (_name, item) => {
  const { artifacts, unplaced } = attach([item]);
  expect(artifacts.flatMap(({ probes, questions }) => [...probes, ...questions])).toEqual([]);
  expect(unplaced).toMatchObject([{ itemId: 'a', reason: 'unknown-message', detail: '99.0' }]);
});

test('ids that occur twice and windows of another user are bugs', () => {
  expect(() => attach([trap('t', '1.0'), trap('t', '2.0')])).toThrow('item id t occurs twice');
  const windows = windowsWith(1);
  const stream: UserStream = { userId: 'ann', sessions: [], items: [] };
  expect(() => attachItems(stream, [...windows, ...windows])).toThrow(
    'message id 0.0 occurs twice',
  );
  expect(() => attachItems({ ...stream, userId: 'bob' }, windows)).toThrow('not of user bob');
});

const messageArb = fc.tuple(fc.nat(15), fc.nat(1)).map(([chunk, m]) => `${chunk}.${m}`);
const citedArb = fc.array(messageArb, { minLength: 1, maxLength: 4 });
const itemArb = fc.oneof(
  citedArb.map((ids) => recall('', ids)),
  messageArb.map((id) => trap('', id)),
  fc.array(citedArb, { minLength: 1, maxLength: 4 }).map((facts) => question('', facts)),
);

test('property: every item is placed once or on record once; credit stays inside the window', () => {
  fc.assert(
    fc.property(fc.array(itemArb, { maxLength: 12 }), (drafts) => {
      const items = drafts.map((item, i) => ({ ...item, id: `i${i}` }));
      const { artifacts, unplaced } = attach(items);
      const placed = artifacts.flatMap(({ probes, questions }) => [...probes, ...questions]);
      const ids = [...placed.map(({ id }) => id), ...unplaced.map(({ itemId }) => itemId)];
      expect([...ids].sort()).toEqual(items.map(({ id }) => id).sort());
      for (const { window, probes, questions } of artifacts) {
        const inside = new Set(window.chunks.map(({ id }) => id));
        expect(probes.every(({ chunkId }) => inside.has(chunkId))).toBe(true);
        for (const { goldFacts, evidenceChunkIds } of questions) {
          expect(evidenceChunkIds.length).toBeGreaterThanOrEqual(2);
          expect(goldFacts.length).toBeGreaterThanOrEqual(1);
          expect(goldFacts.every(({ chunkId }) => inside.has(chunkId))).toBe(true);
          expect(inside.has(evidenceChunkIds.at(-1) ?? '')).toBe(true);
        }
      }
    }),
    { numRuns: 100 },
  );
});
