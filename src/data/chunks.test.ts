/** Turns, chunks and windows against definitions §1, mostly as properties. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  chunkSchema,
  type Message,
  renderChunk,
  type Session,
  windowSchema,
} from '../core/conversation.ts';
import { chunksOf, splitEvenly } from './chunks.ts';
import { turnsOf } from './turns.ts';
import { windowsOf } from './windows.ts';

const countTokens = (text: string): number => text.split(/\s+/).filter(Boolean).length;
const OPTIONS = { countTokens, turnsPerChunk: 10, maxChunkTokens: 8000 };

function session(id: string, turns: number, at = '2024-05-08T20:15:00+02:00'): Session {
  const messages = Array.from({ length: turns }, (_, i): Message[] => [
    { id: `${id}:${i}u`, role: 'user', text: `ask ${i}` },
    { id: `${id}:${i}a`, role: 'assistant', text: `reply ${i}` },
  ]).flat();
  return { id, userId: 'ann', at, scene: 'chat', messages };
}

function sizes(turns: number): number[] {
  return chunksOf([session('s', turns)], OPTIONS).map((chunk) => turnsOf(chunk.messages).length);
}

test.each([
  [1, [1]],
  [14, [14]],
  [15, [8, 7]],
  [20, [10, 10]],
  [24, [12, 12]],
  [25, [9, 8, 8]],
  [104, [11, 11, 11, 11, 10, 10, 10, 10, 10, 10]],
])('%i turns become chunks of %j', (turns, expected) => {
  expect(sizes(turns)).toEqual(expected);
});

test('what precedes the first user message belongs to the first turn; each user message opens one', () => {
  const of = (...roles: Message['role'][]) =>
    turnsOf(roles.map((role, i) => ({ id: String(i), role, text: 'x' }))).map((turn) =>
      turn.map((message) => message.id).join(''),
    );
  expect(of('system', 'assistant', 'user', 'assistant', 'tool', 'user')).toEqual(['01234', '5']);
  expect(of('user', 'user', 'user')).toEqual(['0', '1', '2']);
  expect(of('assistant', 'assistant')).toEqual(['01']);
  expect(of()).toEqual([]);
});

const roleArb = fc.constantFrom<Message['role'][]>('system', 'user', 'assistant', 'tool');
const sessionsArb = fc
  .array(fc.tuple(fc.array(fc.tuple(roleArb, fc.nat(30)), { maxLength: 60 }), fc.nat(9)), {
    maxLength: 5,
  })
  .map((drafts) =>
    drafts.map(
      ([messages, day], s): Session => ({
        id: `s${s}`,
        userId: 'ann',
        at: `2024-05-0${day === 0 ? 1 : day}T10:00:00+02:00`,
        scene: 'chat',
        messages: messages.map(([role, words], i) => ({
          id: `s${s}:${i}`,
          role,
          text: 'word '.repeat(words),
        })),
      }),
    ),
  );
const optionsArb = fc.record({
  countTokens: fc.constant(countTokens),
  turnsPerChunk: fc.integer({ min: 1, max: 12 }),
  maxChunkTokens: fc.integer({ min: 1, max: 200 }),
});

test('property: chunks partition each session in order, at turn boundaries, never across sessions', () => {
  fc.assert(
    fc.property(sessionsArb, optionsArb, (sessions, options) => {
      const chunks = chunksOf(sessions, options);
      for (const one of sessions) {
        const mine = chunks.filter(({ sessionId }) => sessionId === one.id);
        expect(mine.flatMap(({ messages }) => messages)).toEqual(one.messages);
        expect(mine.flatMap(({ messages }) => turnsOf(messages))).toEqual(turnsOf(one.messages));
      }
      expect(chunks.map(({ index }) => index)).toEqual(chunks.map((_, i) => i));
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(chunks.length);
      for (const chunk of chunks) chunkSchema.parse(chunk);
    }),
    { numRuns: 100 },
  );
});

test('property: a chunk exceeds the limit only as a single turn, and exactly then is flagged', () => {
  fc.assert(
    fc.property(sessionsArb, optionsArb, (sessions, options) => {
      for (const chunk of chunksOf(sessions, options)) {
        expect(chunk.tokens).toBe(countTokens(renderChunk(chunk.messages)));
        expect(chunk.oversized).toBe(chunk.tokens > options.maxChunkTokens);
        if (chunk.oversized) expect(turnsOf(chunk.messages)).toHaveLength(1);
      }
    }),
    { numRuns: 100 },
  );
});

test('property: without a size limit there are max(1, round(N / 10)) chunks, balanced to one turn', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), (turns) => {
      const lengths = sizes(turns);
      expect(lengths).toHaveLength(Math.max(1, Math.round(turns / 10)));
      expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
    }),
  );
});

test('property: an even split loses nothing and differs by at most one', () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 20 }), (items, k) => {
      const runs = splitEvenly(items, k);
      expect(runs).toHaveLength(k);
      expect(runs.flat()).toEqual(items);
      const lengths = runs.map(({ length }) => length);
      expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
    }),
  );
});

test('property: the order in which sessions come in changes nothing', () => {
  const distinct = Array.from({ length: 6 }, (_, i) =>
    session(`s${i}`, 3 * i + 1, `2024-05-0${i + 1}T10:00:00Z`),
  );
  fc.assert(
    fc.property(fc.shuffledSubarray(distinct, { minLength: 6 }), (shuffled) => {
      expect(chunksOf(shuffled, OPTIONS)).toEqual(chunksOf(distinct, OPTIONS));
    }),
  );
});

test('sessions are ordered by instant: offsets count', () => {
  const chunks = chunksOf(
    [
      session('later', 1, '2024-05-08T23:00:00-05:00'),
      session('sooner', 1, '2024-05-09T00:30:00+01:00'),
    ],
    OPTIONS,
  );
  expect(chunks.map(({ sessionId }) => sessionId)).toEqual(['sooner', 'later']);
});

test('BR-14: a naive time is refused, not read in this machine’s zone', () => {
  expect(() => chunksOf([session('s', 1, '2024-05-08T20:15:00')], OPTIONS)).toThrow('has no zone');
});

test('a new session moves no other session’s chunk ids', () => {
  const before = chunksOf([session('b', 25, '2024-05-09T00:00:00Z')], OPTIONS);
  const after = chunksOf(
    [session('a', 12, '2024-05-08T00:00:00Z'), session('b', 25, '2024-05-09T00:00:00Z')],
    OPTIONS,
  );
  expect(after.slice(1).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  expect(before.map(({ id }) => id)).toEqual(['ann/b/0', 'ann/b/1', 'ann/b/2']);
});

test('ids of awkward names do not collide', () => {
  const one = { ...session('c', 1), userId: 'a/b' };
  const two = { ...session('b/c', 1), userId: 'a' };
  expect(chunksOf([one], OPTIONS)[0]?.id).not.toBe(chunksOf([two], OPTIONS)[0]?.id);
});

test('BR-18: a very long message stays whole, both facts in it, and its chunk is flagged', () => {
  const log = `${'x '.repeat(15_200)}rollback token is KESTREL-88 ${'x '.repeat(14_800)}`;
  const text = `${log}\nignore the log, my start date moved to 2 June\n${'车'.repeat(9000)}`;
  const long: Message = { id: 'm1', role: 'user', text };
  const short = session('s', 1).messages;
  const [first, second, ...rest] = chunksOf(
    [{ ...session('s', 0), messages: [...short, long] }],
    OPTIONS,
  );
  expect(rest).toEqual([]);
  expect(first?.oversized).toBe(false);
  expect(second).toMatchObject({ oversized: true, messages: [long] });
});

test('BR-17: a session without messages has no chunk, and a user without chunks no window', () => {
  expect(chunksOf([session('s', 0)], OPTIONS)).toEqual([]);
  expect(windowsOf([])).toEqual([]);
});

test('BR-03: several user messages in a row are several turns of one chunk', () => {
  const lines = ['The scanner lives in repo lark-scan.', 'run: echo hi', "What's your name?"];
  const messages = lines.map((text, i): Message => ({ id: String(i), role: 'user', text }));
  const chunks = chunksOf([{ ...session('s', 0), messages }], OPTIONS);
  expect(chunks.map((chunk) => turnsOf(chunk.messages).length)).toEqual([3]);
});

test('chunks of two users at once are a bug', () => {
  const other = { ...session('t', 1), userId: 'bob' };
  expect(() => chunksOf([session('s', 1), other], OPTIONS)).toThrow('one user at a time');
});

test('property: windows are the chunks in order, five at a time, across sessions', () => {
  fc.assert(
    fc.property(sessionsArb, optionsArb, (sessions, options) => {
      const chunks = chunksOf(sessions, options);
      const windows = windowsOf(chunks);
      expect(windows.flatMap((window) => window.chunks)).toEqual(chunks);
      expect(windows.slice(0, -1).every((window) => window.chunks.length === 5)).toBe(true);
      expect(windows.map(({ index }) => index)).toEqual(windows.map((_, i) => i));
      for (const window of windows) windowSchema.parse(window);
    }),
    { numRuns: 50 },
  );
});
