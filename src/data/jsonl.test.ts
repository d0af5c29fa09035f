/** JSONL files end to end: order, identity, errors that say where and what to do. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sessionSchema } from '../core/conversation.ts';
import { HygieneLog } from './hygiene.ts';
import { readSessions, readUserStreams } from './jsonl.ts';

async function fileOf(content: string | Uint8Array): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'memwriter-data-')), 'sessions.jsonl');
  await writeFile(file, content);
  return file;
}

function line(fields: Record<string, unknown> = {}): string {
  const session = { user: 'ann', at: '2024-05-08T20:15:00+02:00', messages: [message('hi')] };
  return JSON.stringify({ ...session, ...fields });
}

function message(content: string) {
  return { role: 'user', content };
}

async function failure(content: string | Uint8Array): Promise<string> {
  const file = await fileOf(content);
  const error: unknown = await readUserStreams(file).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error('expected a failure');
  expect(error.name).toBe('InputError');
  return error.message.replace(file, 'F');
}

test('users keep the order of the file, their sessions are in order of instants, not of text', async () => {
  const file = await fileOf(
    [
      line({ id: 'late', at: '2024-05-08T23:00:00-05:00' }),
      line({ id: 7, user: 42, at: '2024-01-01T00:00:00Z' }),
      line({ id: 'early', at: '2024-05-09T00:30:00+01:00' }),
    ].join('\n'),
  );
  const { streams } = await readUserStreams(file);
  expect(streams.map(({ userId }) => userId)).toEqual(['ann', '42']);
  expect(streams[0]?.sessions.map(({ id }) => id)).toEqual(['early', 'late']);
  for (const session of streams.flatMap(({ sessions }) => sessions)) sessionSchema.parse(session);
});

test('the zone a session was given is kept', async () => {
  const { streams } = await readUserStreams(await fileOf(line()));
  expect(streams[0]?.sessions[0]?.at).toBe('2024-05-08T20:15:00+02:00');
});

test('a session without `at` takes the first time its messages give', async () => {
  const timed = { ...message('hi'), timestamp: '2024-05-08T20:15:00Z' };
  const { streams } = await readUserStreams(
    await fileOf(line({ at: undefined, messages: [timed] })),
  );
  expect(streams[0]?.sessions[0]?.at).toBe('2024-05-08T20:15:00Z');
});

test('BOM, CR LF, empty lines and U+2028 inside a string are no trouble', async () => {
  const text = `\uFEFF${line({ messages: [message('a\u2028b')] })}\r\n\r\n${line({ id: 'x' })}\r\n`;
  const { streams } = await readUserStreams(await fileOf(text));
  expect(streams[0]?.sessions.map(({ messages }) => messages[0]?.text)).toEqual(['a\u2028b', 'hi']);
});

test('a multi-byte character across read blocks arrives whole', async () => {
  const long = `${'x'.repeat(65_533)}🐱${'車'.repeat(50_000)}`;
  const { streams } = await readUserStreams(await fileOf(line({ messages: [message(long)] })));
  expect(streams[0]?.sessions[0]?.messages[0]?.text).toBe(long);
});

test('BR-17: a session left without messages is counted, and there is no session of nothing', async () => {
  const file = await fileOf(
    [line({ messages: [] }), line({ messages: [message('\u3000')] })].join('\n'),
  );
  const { streams, hygiene } = await readUserStreams(file);
  expect(streams).toEqual([]);
  expect(hygiene.counts).toEqual({ 'blank-message': 1, 'session-without-messages': 2 });
});

test('sessions stream: the first is there before a later line fails', async () => {
  const file = await fileOf(`${line({ id: 'a' })}\n{oops`);
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { session } of readSessions(file, new HygieneLog())) seen.push(session.id);
  })();
  await expect(reading).rejects.toThrow(':2: is not JSON');
  expect(seen).toEqual(['a']);
});

test('a session without id gets one from its content, wherever it stands in the file', async () => {
  const [first] = (await readUserStreams(await fileOf(line()))).streams;
  const [second] = (await readUserStreams(await fileOf(`\n${line()}`))).streams;
  expect(first?.sessions[0]?.id).toMatch(/^s-[0-9a-f]{12}$/);
  expect(second?.sessions).toEqual(first?.sessions);
});

test.each([
  [
    'BR-14: a naive time',
    { at: '2024-05-08T20:15:00' },
    '`at` is "2024-05-08T20:15:00", which has no zone. Append its offset, e.g. 2024-05-08T20:15:00+02:00, or Z for UTC.',
  ],
  [
    'an epoch number',
    { at: 1715192100 },
    '`at` is the number 1715192100, whose zone nobody knows. Write ISO 8601 with an offset, e.g. 2024-05-08T20:15:00+02:00.',
  ],
  [
    'BR-13: no time at all',
    { at: undefined },
    '`at` is missing. Write when it happened, ISO 8601 with an offset, e.g. 2024-05-08T20:15:00+02:00.',
  ],
  [
    'a day that does not exist',
    { at: '2023-02-29T10:00:00Z' },
    '`at` is "2023-02-29T10:00:00Z", which is not an ISO 8601 time with an offset, e.g. 2024-05-08T20:15:00+02:00.',
  ],
  [
    'a naive message time',
    { messages: [{ ...message('x'), at: '2024-05-08 20:15' }] },
    '`messages[0].at` is "2024-05-08 20:15", which is not an ISO 8601 time with an offset, e.g. 2024-05-08T20:15:00+02:00. See docs/data.md for the schema.',
  ],
  [
    'an unknown role',
    { messages: [{ role: 'human', content: 'x' }] },
    '`messages[0].role`: Invalid option: expected one of "system"|"developer"|"user"|"assistant"|"tool"|"function". See docs/data.md for the schema.',
  ],
  [
    'no messages field',
    { messages: undefined },
    '`messages`: Invalid input: expected array, received undefined. See docs/data.md for the schema.',
  ],
  [
    'a blank user',
    { user: '\u200B' },
    '`user` must not be blank. See docs/data.md for the schema.',
  ],
])('%s is refused by file and line', async (_name, fields, problem) => {
  expect(await failure(`${line()}\n${line(fields)}`)).toBe(`F:2: ${problem}`);
});

test('a JSON array, broken JSON and other encodings are told apart', async () => {
  const array = 'F:1: looks like one JSON array. Write one session a line, e.g. with jq -c ".[]".';
  expect(await failure(`[${line()}]`)).toBe(array);
  expect(await failure(`[\n${line()}\n]`)).toBe(array);
  expect(await failure(`${line()}\n{"user":`)).toBe(
    'F:2: is not JSON. Every line must be one complete session object.',
  );
  expect(await failure(Buffer.from(`${line()}\n"caf\u00e9"`, 'latin1'))).toBe(
    'F:2: is not UTF-8 text. Convert the file to UTF-8.',
  );
});

test('a session or message id given twice for one user names both places', async () => {
  expect(await failure(`${line({ id: 'a' })}\n\n${line({ id: 'a' })}`)).toMatch(
    /^F:3: session "a" was already given at .*:1\. Give each its own `id`, or remove one\.$/,
  );
  const twice = [
    { ...message('x'), id: 'm' },
    { ...message('y'), id: 'm' },
  ];
  expect(await failure(line({ messages: twice }))).toMatch(/^F:1: message "m" was already given/);
  const others = await fileOf(`${line({ id: 'a' })}\n${line({ id: 'a', user: 'bob' })}`);
  expect((await readUserStreams(others)).streams).toHaveLength(2);
});
