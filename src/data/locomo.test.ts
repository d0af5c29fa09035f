/** LoCoMo: a hand-made file of its shape, and the real one where it was downloaded. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type AnnotatedItem, annotatedItemSchema } from '../core/annotation.ts';
import { sessionSchema } from '../core/conversation.ts';
import { locomoStreams, parseLocomoTime, readLocomo } from './locomo.ts';
import { summarise } from './summary.ts';
import { windowsOfStream } from './windows.ts';

const turn = (diaId: string, said: string, more = {}) => {
  const [speaker, text] = said.split(': ');
  return { dia_id: diaId, speaker, text, ...more };
};

function conversation(qa: readonly unknown[] = []) {
  return {
    sample_id: 'conv-1',
    conversation: {
      speaker_a: 'Ada',
      speaker_b: 'Ben',
      session_2_date_time: '12:05 am on 1 March, 2024',
      session_2: [
        turn('D2:1', 'Ben: I took up fencing last week.'),
        turn('D2:2', 'Ada: Look!', {
          img_url: ['https://example.org/a.jpg'],
          blip_caption: 'a photo of a red bike',
          query: 'bicycle from Lyon',
        }),
      ],
      session_1_date_time: '1:56 pm on 8 May, 2023',
      session_1: [
        turn('D1:1', 'Ada: I moved here from Sweden.'),
        turn('D1:2', 'Ben:  \u200B '),
        turn('D1:3', 'Ben: I row and I do judo.'),
        turn('D1:4', 'Ada: ', { img_url: ['x'] }),
      ],
      session_3_date_time: '9:00 am on 2 March, 2024',
      session_3: [],
      session_4_date_time: '9:00 am on 3 March, 2024',
    },
    qa,
    event_summary: {},
  };
}

function read(qa: readonly unknown[] = []) {
  const { streams, ...rest } = locomoStreams([conversation(qa)], 'F');
  const [stream] = streams;
  if (stream === undefined) throw new Error('expected one stream');
  return { stream, ...rest };
}

function itemOf(qa: Record<string, unknown>): AnnotatedItem {
  const { stream, unresolved } = read([{ question: 'q?', category: 4, ...qa }]);
  const [item] = stream.items;
  if (item === undefined) throw new Error(JSON.stringify(unresolved));
  return annotatedItemSchema.parse(item);
}

test('one conversation is one user; sessions are in time order, in UTC, both people told apart', () => {
  const { stream } = read();
  expect(stream.sessions.map(({ id, at }) => [id, at])).toEqual([
    ['session_1', '2023-05-08T13:56:00Z'],
    ['session_2', '2024-03-01T00:05:00Z'],
  ]);
  expect(stream.sessions[0]?.messages[0]).toEqual({
    id: 'D1:1',
    role: 'user',
    speaker: 'Ada',
    text: 'I moved here from Sweden.',
  });
});

test('an image is its caption; the search that found it is never shown', () => {
  const { stream } = read();
  const texts = stream.sessions.flatMap(({ messages }) => messages.map(({ text }) => text));
  expect(texts).toContain('Look!\n[image: a photo of a red bike]');
  expect(texts).toContain('[image]');
  expect(texts.join()).not.toContain('Lyon');
});

test('what is missing or dropped is counted: blank turns, sessions without turns, dates without sessions', () => {
  expect(read().hygiene.counts).toEqual({
    'blank-message': 1,
    'session-without-messages': 1,
    image: 2,
    'image-without-caption': 1,
    'date-without-session': 1,
  });
});

test('one cited turn makes a recall probe of it; a number is a text', () => {
  const item = itemOf({ answer: 2022, evidence: ['D1:3'], category: 2 });
  expect(item).toMatchObject({
    kind: 'recall',
    id: 'conv-1/qa0',
    category: 'specificity',
    reference: '2022',
    rubric: [{ id: 'answer', weight: 1, key: { all: ['2022'], none: [] } }],
    messageIds: ['D1:3'],
    scoredMessageId: 'D1:3',
    facets: { source: 'locomo', locomoCategory: 'temporal' },
  });
});

test('several cited turns make a question; each gold fact is a turn and the part of the answer it says', () => {
  const item = itemOf({ answer: 'Fencing, judo', evidence: ['D2:1', 'D1:3'], category: 1 });
  expect(item).toMatchObject({
    kind: 'question',
    goldFacts: [
      { text: 'Ben: I row and I do judo.', key: { all: ['judo'] }, messageIds: ['D1:3'] },
      {
        text: 'Ben: I took up fencing last week.',
        key: { all: ['Fencing'] },
        messageIds: ['D2:1'],
      },
    ],
  });
});

test('a turn that says no part of the answer literally is credited by the whole answer', () => {
  const item = itemOf({ answer: 'Sweden', evidence: ['D1:1', 'D2:1'], category: 1 });
  if (item.kind !== 'question') throw new Error(item.kind);
  expect(item.goldFacts.map(({ key }) => key?.all)).toEqual([['Sweden'], ['Sweden']]);
});

test('a turn cited twice is one turn', () => {
  expect(itemOf({ answer: 'judo', evidence: ['D1:3', 'D1:3'] }).kind).toBe('recall');
});

test('an adversarial question is a trap on the last turn cited, its wrong answer is the trapped content', () => {
  const item = itemOf({ adversarial_answer: 'Red', evidence: ['D2:2', 'D1:1'], category: 5 });
  expect(item).toMatchObject({
    kind: 'trap',
    reference: 'There is no record of that.',
    trapped: { all: ['Red'], none: [] },
    scoredMessageId: 'D2:2',
  });
});

test('an adversarial question whose wrong answer is a refusal traps nothing in particular', () => {
  const item = itemOf({ adversarial_answer: 'Not mentioned', evidence: ['D1:1'], category: 5 });
  expect(item.kind).toBe('trap');
  expect(item).not.toHaveProperty('trapped');
});

test('an adversarial question with an answer of its own asks for that answer', () => {
  const qa = { answer: 'No', adversarial_answer: 'Yes', evidence: ['D1:1'], category: 5 };
  expect(itemOf(qa)).toMatchObject({
    kind: 'recall',
    category: 'semantic-exactness',
    rubric: [{ key: { all: ['No'], none: ['yes'] } }],
  });
});

test.each([[['D1:3; D2:1']], [['D2:1 D1:3']], [['D1:03', 'D2:1']]])(
  'evidence %j has one reading, which is taken and marked',
  (evidence) => {
    const item = itemOf({ answer: 'x, y', evidence });
    if (item.kind !== 'question') throw new Error(item.kind);
    expect(item.goldFacts.map(({ messageIds }) => messageIds)).toEqual([['D1:3'], ['D2:1']]);
    expect(item.facets).toMatchObject({ evidence: 'respelled' });
  },
);

test.each([
  ['no-evidence', undefined],
  ['no-evidence', []],
  ['malformed-evidence', ['D1:1', 'D']],
  ['malformed-evidence', ['D:1:3']],
  ['malformed-evidence', [13]],
  ['malformed-evidence', ['']],
  ['unknown-turn', ['D1:1', 'D9:9']],
  ['unknown-turn', ['D1:2']],
])('%s: evidence %j is reported, never guessed', (reason, evidence) => {
  const { stream, unresolved } = read([{ question: 'q?', answer: 'a', category: 4, evidence }]);
  expect(stream.items).toEqual([]);
  expect(unresolved).toMatchObject([{ itemId: 'conv-1/qa0', question: 'q?', reason }]);
});

test('a question without an answer is reported', () => {
  const { unresolved } = read([{ question: 'q?', category: 4, evidence: ['D1:1'] }]);
  expect(unresolved).toMatchObject([{ reason: 'no-answer' }]);
});

test.each([
  ['12:00 am on 1 January, 2024', '2024-01-01T00:00:00Z'],
  ['12:30 pm on 29 February, 2024', '2024-02-29T12:30:00Z'],
  ['11:59 PM on 31 December 2023', '2023-12-31T23:59:00Z'],
])('the time %s is %s', (text, at) => {
  expect(parseLocomoTime(text, 'F')).toBe(at);
});

test.each([
  '1:00 pm on 31 June, 2023',
  '13:00 pm on 1 May, 2023',
  '1:00 pm on 1 Mayy, 2023',
  '2023-05-08',
  7,
  undefined,
])('the time %s is refused', (value) => {
  expect(() => parseLocomoTime(value, 'F x')).toThrow(/^F x: is /);
});

test('another file, a turn without text and a repeated turn are named', () => {
  expect(() => locomoStreams({ data: [] }, 'F')).toThrow('F: is not a LoCoMo file: ');
  const broken = conversation();
  Object.assign(broken.conversation, { session_2: [{ dia_id: 'D2:1', speaker: 'Ben' }] });
  expect(() => locomoStreams([broken], 'F')).toThrow(
    'F conv-1.session_2: `[0].text`: Invalid input',
  );
  const twice = conversation();
  twice.conversation.session_2.push(turn('D1:1', 'Ben: again'));
  expect(() => locomoStreams([twice], 'F')).toThrow('F conv-1: dialog id D1:1 occurs twice.');
});

// biome-ignore lint/style/noProcessEnv: where a developer keeps downloaded data is nobody else's business
const { MEMWRITER_DATA } = process.env;
const REAL = [MEMWRITER_DATA, join('..', 'shared', 'data')]
  .filter((directory) => directory !== undefined)
  .map((directory) => join(directory, 'locomo10.json'))
  .find(existsSync);

test.skipIf(REAL === undefined)(
  'the published file is read whole: every question is an item or on record',
  async () => {
    const { streams, unresolved, hygiene } = await readLocomo(String(REAL));
    const sessions = streams.flatMap((stream) => stream.sessions);
    const items = streams.flatMap((stream) => stream.items);
    expect([streams.length, sessions.length]).toEqual([10, 272]);
    expect(sessions.flatMap(({ messages }) => messages)).toHaveLength(5882);
    expect(items.length + unresolved.length).toBe(1986);
    expect(unresolved.map(({ reason }) => reason).sort()).toEqual([
      ...Array.from({ length: 2 }, () => 'malformed-evidence'),
      ...Array.from({ length: 4 }, () => 'no-evidence'),
      ...Array.from({ length: 2 }, () => 'unknown-turn'),
    ]);
    expect(items.filter(({ facets }) => Object.hasOwn(facets, 'evidence'))).toHaveLength(5);
    expect(items.filter(({ kind }) => kind === 'trap')).toHaveLength(444);
    expect(hygiene.counts).toEqual({ image: 1226, 'date-without-session': 16 });
    for (const session of sessions) sessionSchema.parse(session);
    for (const item of items) annotatedItemSchema.parse(item);
  },
);

test.skipIf(REAL === undefined)('the published file in figures', async () => {
  const { streams } = await readLocomo(String(REAL));
  const options = {
    countTokens: (text: string) => text.length,
    turnsPerChunk: 10,
    maxChunkTokens: 1e6,
  };
  const artifacts = streams
    .flatMap((stream) => windowsOfStream(stream, options))
    .map((window) => ({ window, probes: [], questions: [] }));
  expect(summarise(streams, artifacts)).toMatchObject({
    users: 10,
    sessions: 272,
    turns: 5882,
    chunks: 611,
    windows: 125,
    oversizedChunks: 0,
  });
});
