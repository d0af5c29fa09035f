/** The contract of a bank, kept by the real SDK in its worker: settled, complete, unchanged by reads, forkable, exclusive. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Chunk, Message } from '../../../core/conversation.ts';
import type { Bank, Harness, OpenOptions } from '../../contract.ts';
import { forkBank } from '../../fork.ts';
import { scratchParent } from '../../scratch.ts';
import { createMem0Harness } from './adapter.ts';
import { lastMessagesOf, readMem0Prompt } from './prompt.ts';
import { mem0ExtractStage as stage } from './stage.ts';
import { type ModelServer, startModelServer } from './testing/model-server.ts';

let root: string;
let harness: Harness;
let server: ModelServer;
let dirs = 0;

beforeAll(async () => {
  root = await mkdtemp(join(await scratchParent(), 'memwriter-mem0-'));
  harness = await createMem0Harness({ timeoutMs: 60_000 });
  server = await startModelServer();
});

afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

beforeEach(() => {
  server.chats.length = 0;
  server.embedded.length = 0;
});

const newDir = (): string => join(root, String(dirs++));
const open = (dir: string): Promise<Bank> => harness.open(server.open(dir));

function say(...texts: readonly string[]): void {
  server.answer = () => ({ kind: 'text', text: stage.compose(texts) });
}

function chunk(at: string, ...messages: readonly Omit<Message, 'id'>[]): Chunk {
  return {
    id: 'c',
    userId: 'user with spaces',
    sessionId: 's',
    index: 0,
    at,
    scene: 'chat',
    messages: messages.map((message, index) => ({ ...message, id: String(index) })),
    tokens: 1,
    oversized: false,
  };
}

const DAY = '2024-05-08T23:15:00-05:00';
const hello = chunk(DAY, { role: 'user', text: 'hello' });

function lastPrompt() {
  const prompt = readMem0Prompt(server.chats.at(-1) ?? []);
  if (prompt === undefined) throw new Error('the request was not recognised');
  return prompt;
}

test('the writer is shown the chunk, its own day, and the memories and messages of earlier chunks', async () => {
  await using bank = await open(newDir());
  say('Ann moved to Lyon 🙂');
  await bank.write(
    chunk(
      DAY,
      { role: 'user', speaker: 'Ann', text: 'I moved to Lyon 🙂' },
      { role: 'system', text: 'You are helpful.' },
      { role: 'tool', text: 'map: Lyon' },
      { role: 'assistant', text: 'x'.repeat(400) },
    ),
  );
  // Mem0 3.3.1 leaves system messages out; every other message is whole.
  expect(lastPrompt()).toEqual({
    lastMessages: [],
    existingMemories: [],
    newMessages: [
      'user: Ann: I moved to Lyon 🙂',
      'tool: map: Lyon',
      `assistant: ${'x'.repeat(400)}`,
    ],
    date: '2024-05-08',
  });
  await bank.write(chunk('2024-05-09T00:00:00Z', { role: 'user', text: 'bye' }));
  expect(lastPrompt()).toEqual({
    lastMessages: [
      'user: Ann: I moved to Lyon 🙂',
      'tool: map: Lyon',
      `assistant: ${'x'.repeat(300)}...`,
    ],
    existingMemories: [{ id: '0', text: 'Ann moved to Lyon 🙂' }],
    newMessages: ['user: bye'],
    date: '2024-05-09',
  });
  expect(await bank.list()).toMatchObject([{ text: 'Ann moved to Lyon 🙂', store: 'memory' }]);
  expect(await bank.retrieve('Where did Ann move?')).toBe('2024-05-08: Ann moved to Lyon 🙂');
});

test('chunks of one moment keep their order, and the earlier messages shown are those that we predict', async () => {
  await using bank = await open(newDir());
  say('fact');
  const writes = [4, 8, 12, 1, 2].map((count, write) =>
    Array.from({ length: count }, (_, index) => ({
      role: 'user' as const,
      text: index === 1 ? '' : `write ${write} message ${index} ${'y'.repeat(index * 60)}`,
    })),
  );
  const earlier: { role: string; content: string }[][] = [];
  for (const messages of writes) {
    await bank.write(chunk(DAY, ...messages));
    expect(lastPrompt().lastMessages).toEqual(lastMessagesOf(earlier));
    earlier.push(messages.map(({ role, text }) => ({ role, content: text })));
  }
  expect(lastMessagesOf(earlier.slice(0, 2)).map((message) => message.slice(0, 23))).toEqual(
    [0, 10, 12, 13, 14, 15, 16, 17].map(
      (place) => `user: write ${Math.floor(place / 10)} message ${place % 10}`,
    ),
  );
});

test('reads change nothing, and the hash names content, not ids or times of day', async () => {
  const [first, second] = [newDir(), newDir()];
  const bank = await open(first);
  const empty = await bank.contentHash();
  say('Ann met Bob Smith in Paris', 'Ann drinks tea');
  await bank.write(hello);
  const hash = await bank.contentHash();
  expect(hash).not.toBe(empty);
  await bank.retrieve('What did Bob Smith do in Paris?');
  await bank.list();
  expect(await bank.contentHash()).toBe(hash);
  await bank.close();

  const twin = await open(second);
  expect(await twin.contentHash()).toBe(empty);
  await twin.write(chunk('2024-05-08T01:00:00Z', { role: 'user', text: 'hello' }));
  expect(await twin.contentHash()).toBe(hash);
  const [again] = await Promise.all([open(first)]);
  expect(await again.contentHash()).toBe(hash);
  const ids = async (opened: Bank) => (await opened.list()).map(({ id }) => id);
  expect(await ids(again)).not.toEqual(await ids(twin));
  await twin.write(chunk('2024-05-09T01:00:00Z', { role: 'user', text: 'hello' }));
  expect(await twin.contentHash()).not.toBe(hash);
  const later = await open(newDir());
  await later.write(chunk('2024-05-09T01:00:00Z', { role: 'user', text: 'hello' }));
  expect(await later.contentHash()).not.toBe(hash);
  await Promise.all([again.close(), twin.close(), later.close()]);
});

test('forks of a closed bank start equal and grow apart', async () => {
  const parent = newDir();
  const bank = await open(parent);
  say('shared');
  await bank.write(hello);
  await expect(forkBank(parent, newDir())).rejects.toThrow('is open');
  const hash = await bank.contentHash();
  await bank.close();
  const [left, right] = [newDir(), newDir()];
  await Promise.all([forkBank(parent, left), forkBank(parent, right)]);
  const forks = await Promise.all([open(left), open(right)]);
  expect(await Promise.all(forks.map((fork) => fork.contentHash()))).toEqual([hash, hash]);
  say('only left');
  await forks[0].write(hello);
  const texts = async (fork: Bank) => (await fork.list()).map(({ text }) => text);
  expect(await texts(forks[0])).toEqual(['shared', 'only left']);
  expect(await texts(forks[1])).toEqual(['shared']);
  await Promise.all(forks.map((fork) => fork.close()));
});

test('a bank is opened once at a time, with the embedder that it was built with', async () => {
  const dir = newDir();
  const bank = await open(dir);
  const fault = { name: 'FaultError', boundary: 'store' };
  await expect(open(dir)).rejects.toMatchObject(fault);
  await bank.close();
  await using heir = await open(newDir());
  await expect(bank.list()).rejects.toMatchObject({ message: 'the bank is closed' });
  expect(await heir.list()).toEqual([]);
  const options = server.open(dir);
  const other: OpenOptions = { ...options, embeddings: { ...options.embeddings, model: 'other' } };
  await expect(harness.open(other)).rejects.toMatchObject(fault);
  await (await open(dir)).close();
});

test('an aborted bank refuses, frees its directory, and does not disturb another', async () => {
  const abort = new AbortController();
  const dir = newDir();
  await using other = await open(newDir());
  const bank = await harness.open({ ...server.open(dir), signal: abort.signal });
  abort.abort();
  await expect(bank.list()).rejects.toMatchObject({ boundary: 'harness', message: 'aborted' });
  await bank.close();
  await expect(harness.open({ ...server.open(dir), signal: abort.signal })).rejects.toMatchObject({
    name: 'FaultError',
  });
  await (await open(dir)).close();
  expect(await other.list()).toEqual([]);
});

test('lone surrogates and control characters come back as they were written', async () => {
  await using bank = await open(newDir());
  const texts = ['half \ud83d of one', 'nul \u0000 and \u2028', '"quotes" \\ and {braces}'];
  say(...texts);
  await bank.write(hello);
  expect((await bank.list()).map(({ text }) => text)).toEqual(texts);
});

test('overlapping retrievals are answered one by one, and a failed one fails alone', async () => {
  await using bank = await open(newDir());
  say('Ann drinks tea', 'Bob rows boats');
  await bank.write(hello);
  server.refuseEmbedding = (inputs) =>
    inputs.includes('broken') ? { kind: 'status', status: 400 } : undefined;
  const questions = ['drinks tea', 'broken', 'rows boats'];
  const blocks = await Promise.allSettled(questions.map((question) => bank.retrieve(question)));
  server.refuseEmbedding = () => undefined;
  expect(blocks).toMatchObject([
    { status: 'fulfilled', value: expect.stringMatching(/^2024-05-08: Ann drinks tea/) },
    { status: 'rejected', reason: { boundary: 'embedder' } },
    { status: 'fulfilled', value: expect.stringMatching(/^2024-05-08: Bob rows boats/) },
  ]);
});

test('a bank without a place to send its calls is not opened', async () => {
  const options = server.open(newDir());
  await expect(
    harness.open({ ...options, model: { ...options.model, baseUrl: '' } }),
  ).rejects.toMatchObject({ name: 'FaultError', message: 'Invalid URL' });
});

test('a bank of more memories than a page of the SDK is listed whole, also after it was opened again', async () => {
  const dir = newDir();
  const texts = Array.from({ length: 45 }, (_, i) => `fact number ${i}`);
  const bank = await open(dir);
  say(...texts);
  await bank.write(hello);
  expect((await bank.list()).map(({ text }) => text)).toEqual(texts);
  await bank.close();
  await using again = await open(dir);
  expect((await again.list()).map(({ text }) => text)).toEqual(texts);
});

test('messages that the SDK failed to save, and said nothing about, are a fault of the store', async () => {
  const dir = newDir();
  await using bank = await open(dir);
  const history = new Database(join(dir, 'history.db'));
  history.exec(
    `CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(FAIL, 'disk full'); END`,
  );
  history.close();
  say('seen');
  await expect(bank.write(hello)).rejects.toMatchObject({
    boundary: 'store',
    message: '0 of 1 recent messages were saved',
  });
});

test('a listing that is not the whole store throws', async () => {
  const dir = newDir();
  await using bank = await open(dir);
  say('seen');
  await bank.write(hello);
  const store = new Database(join(dir, 'vectors.db'));
  store.exec(`INSERT INTO vectors VALUES ('x', x'00', '{"data":"hidden","user_id":"other"}')`);
  store.close();
  await expect(bank.list()).rejects.toMatchObject({
    boundary: 'store',
    message: 'listed 1 of 2 memories',
  });
});
