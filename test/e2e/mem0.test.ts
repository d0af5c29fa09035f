/** The real Mem0 SDK against a scripted endpoint: what `check` says and what is stored agree, and no failure is silent. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diffListings } from '../../src/core/bank.ts';
import type { ChatMessage } from '../../src/core/chat.ts';
import type { Chunk } from '../../src/core/conversation.ts';
import type { AnswerVerdict } from '../../src/core/stage.ts';
import { createMem0Harness } from '../../src/harness/adapters/mem0/adapter.ts';
import { mem0ExtractStage as stage } from '../../src/harness/adapters/mem0/stage.ts';
import { ANSWER_CASES } from '../../src/harness/adapters/mem0/testing/answer-cases.ts';
import {
  type ModelServer,
  type ScriptedReply,
  startModelServer,
} from '../../src/harness/adapters/mem0/testing/model-server.ts';
import type { Bank, Harness } from '../../src/harness/contract.ts';
import { forkBank } from '../../src/harness/fork.ts';
import { scratchParent } from '../../src/harness/scratch.ts';
import { createRng, type Rng } from '../../src/lib/rng.ts';

let root: string;
let harness: Harness;
let server: ModelServer;
let banks = 0;
const opened: Bank[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(await scratchParent(), 'memwriter-mem0-'));
  harness = await createMem0Harness({ timeoutMs: 60_000 });
  server = await startModelServer();
});

afterAll(async () => {
  await Promise.all(opened.map((bank) => bank.close()));
  await harness[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

function newDir(): string {
  return join(root, String(banks++));
}

async function open(dir = newDir(), apiKey = 'key'): Promise<Bank> {
  const bank = await harness.open(server.open(dir, apiKey));
  opened.push(bank);
  return bank;
}

function chunk(text: string, at = '2024-05-08T20:15:00+02:00'): Chunk {
  return {
    id: text,
    userId: 'ann',
    sessionId: 's',
    index: 0,
    at,
    scene: 'chat',
    messages: [{ id: `${text}.0`, role: 'user', text }],
    tokens: 1,
    oversized: false,
  };
}

function say(text: string): void {
  server.answer = () => ({ kind: 'text', text });
}

async function texts(bank: Bank): Promise<string[]> {
  return (await bank.list()).map(({ text }) => text);
}

async function writeAnswer(bank: Bank, answer: string) {
  const before = await bank.list();
  say(answer);
  const failure = await bank.write(chunk('offered')).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  const ops = diffListings(before, await bank.list());
  const request: ChatMessage[] = server.chats.at(-1) ?? [];
  const adds = ops.map((op) => (op.kind === 'add' ? op.text : `not an add: ${op.kind}`));
  return { failure, adds, verdict: stage.check(answer, request) };
}

describe('check and the live SDK', () => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await open();
    say(stage.compose(['offered']));
    await bank.write(chunk('offered'));
  });

  test.each(ANSWER_CASES)('$name', async ({ answer, reasons, adds, throws }) => {
    const seen = await writeAnswer(bank, answer);
    expect(seen.adds).toEqual(adds);
    expect(seen.failure === undefined).toBe(throws !== true);
    if (reasons.length > 0) expect(seen.verdict).toEqual({ kind: 'malformed', reasons });
    else expect(asked(seen.verdict)).toEqual(adds);
  });

  test('whatever is called well formed is stored exactly as asked, over mutated answers', async () => {
    const rng = createRng('mem0 answers');
    const counts = { 'well-formed': 0, malformed: 0 };
    for (let round = 0; round < 150; round++) {
      const answer = mutate(rng, stage.compose([`fact ${round} of Ann`, `"quoted" {${round}}`]));
      const { verdict, adds, failure } = await writeAnswer(bank, answer);
      counts[verdict.kind] += 1;
      if (verdict.kind === 'malformed') continue;
      expect(failure).toBeUndefined();
      expect({ answer, adds }).toEqual({ answer, adds: asked(verdict) });
    }
    expect(counts['well-formed']).toBeGreaterThan(20);
    expect(counts.malformed).toBeGreaterThan(20);
  });
});

function asked(verdict: AnswerVerdict): string[] {
  if (verdict.kind === 'malformed') throw new Error(`malformed: ${verdict.reasons}`);
  return verdict.operations.flatMap((op) => (op.kind === 'add' ? [op.text] : []));
}

function mutate(rng: Rng, answer: string): string {
  const at = rng.int(0, answer.length);
  const [head, tail] = [answer.slice(0, at), answer.slice(at)];
  return rng.pick([
    () => answer,
    () => head,
    () => head + tail.slice(1),
    () => head + rng.pick(['"', '{', '}', '[', ',', '\\', '`', ' ', 'x', '1', '```']) + tail,
    () => `${head}${tail.slice(0, 5)}${tail}`,
    () => `\`\`\`json\n${answer}\n\`\`\``,
    () => `Sure: ${answer}\nAnything else?`,
  ])();
}

describe('failures of the model endpoint', () => {
  const replies: [string, ScriptedReply, number][] = [
    ['HTTP 400', { kind: 'status', status: 400 }, 1],
    ['HTTP 429', { kind: 'status', status: 429 }, 3],
    ['HTTP 500', { kind: 'status', status: 500 }, 3],
    ['a connection lost before the answer', { kind: 'cut', after: 'nothing' }, 3],
    ['a connection lost in the answer', { kind: 'cut', after: 'chunk' }, 1],
  ];
  test.each(replies)(
    '%s: the write is a fault and nothing is stored',
    async (_name, reply, calls) => {
      const bank = await open();
      const hash = await bank.contentHash();
      const before = server.chats.length;
      server.answer = () => reply;
      await expect(bank.write(chunk('x'))).rejects.toMatchObject({
        name: 'FaultError',
        boundary: 'harness',
      });
      expect(server.chats.length - before).toBe(calls);
      expect(await bank.list()).toEqual([]);
      expect(await bank.contentHash()).toBe(hash);
      await bank.close();
    },
  );

  test('a memory that could not be embedded is a fault of the embedder, not a smaller bank', async () => {
    const bank = await open();
    say(stage.compose(['good', 'cursed']));
    server.refuseEmbedding = (inputs) =>
      inputs.includes('cursed') ? { kind: 'status', status: 400 } : undefined;
    await expect(bank.write(chunk('x'))).rejects.toMatchObject({ boundary: 'embedder' });
    server.refuseEmbedding = () => ({ kind: 'status', status: 400 });
    await expect(bank.write(chunk('y'))).rejects.toMatchObject({ boundary: 'embedder' });
    await expect(bank.retrieve('good?')).rejects.toMatchObject({ boundary: 'embedder' });
    server.refuseEmbedding = () => undefined;
    expect(await bank.retrieve('good?')).toContain('good');
    await bank.close();
  });
});

test.each([0, 1, 19, 20, 21, 101, 1000])('a bank of %i memories is listed whole', async (size) => {
  const bank = await open();
  const facts = Array.from({ length: size }, (_, index) => `fact ${index} of kind ${index % 7}`);
  say(stage.compose(facts));
  await bank.write(chunk('many'));
  expect(await texts(bank)).toEqual(facts);
  await bank.close();
});

test('eight banks write in parallel, each under its own date', async () => {
  const days = Array.from({ length: 8 }, (_, index) => `202${index}-03-0${index + 1}`);
  const seen = new Map<string, string>();
  const all = await Promise.all(days.map((_, index) => open(newDir(), `key-${index}`)));
  server.answer = (messages, apiKey) => {
    const date = /Current Date\n(.*)/.exec(messages[1]?.content ?? '')?.[1] ?? 'none';
    seen.set(apiKey, date);
    return { kind: 'text', text: stage.compose([`told to ${apiKey}`]) };
  };
  for (let round = 0; round < 3; round++) {
    await Promise.all(all.map((bank, i) => bank.write(chunk(`r${round}`, `${days[i]}T12:00:00Z`))));
    expect([...seen.entries()].sort()).toEqual(days.map((day, index) => [`key-${index}`, day]));
  }
  const blocks = await Promise.all(all.map((bank, index) => bank.retrieve(`told to key-${index}`)));
  expect(blocks).toEqual(days.map((day, index) => `${day}: told to key-${index}`));
  await Promise.all(all.map((bank) => bank.close()));
});

test('a write killed half way leaves a free directory, and the snapshot continues as before', async () => {
  const dir = newDir();
  const first = await open(dir);
  say(stage.compose(['kept']));
  await first.write(chunk('one'));
  const hash = await first.contentHash();
  await first.close();
  const snapshot = newDir();
  await forkBank(dir, snapshot);

  const abort = new AbortController();
  const doomed = await harness.open({ ...server.open(dir), signal: abort.signal });
  server.answer = () => {
    setImmediate(() => abort.abort());
    return { kind: 'hang' };
  };
  await expect(doomed.write(chunk('two'))).rejects.toMatchObject({ boundary: 'harness' });
  await expect(doomed.list()).rejects.toMatchObject({ boundary: 'harness' });
  await doomed.close();

  await rm(dir, { recursive: true });
  await forkBank(snapshot, dir);
  const restored = await open(dir);
  expect(await restored.contentHash()).toBe(hash);
  say(stage.compose(['continued']));
  await restored.write(chunk('two'));
  expect(await texts(restored)).toEqual(['kept', 'continued']);
  await restored.close();
});

const stuck: [string, ScriptedReply][] = [
  ['an answer that never comes', { kind: 'hang' }],
  // The SDK's HTTP client (node-fetch 2) waits for ever for the rest of a body whose length was announced.
  ['an answer cut short of its length', { kind: 'cut', after: 'announced-length' }],
];
test.each(stuck)(
  '%s: the deadline ends the worker, a fault of the harness',
  async (_name, reply) => {
    await using impatient = await createMem0Harness({ timeoutMs: 2_000 });
    const bank = await impatient.open(server.open(newDir()));
    server.answer = () => reply;
    await expect(bank.write(chunk('x'))).rejects.toMatchObject({
      boundary: 'harness',
      message: 'write took longer than 2000 ms',
    });
    await bank.close();
  },
);

test('nothing is written outside the banks', async () => {
  const bank = await open();
  say(stage.compose(['User met Anna Smith in Paris']));
  await bank.write(chunk('x'));
  await bank.retrieve('Where is Anna Smith?');
  await bank.close();
  const dir = join(root, String(banks - 1));
  expect(await readdir(dir)).toEqual([
    'bank.json',
    'history.db',
    'vectors.db',
    'vectors_entities.db',
  ]);
});
