/** An evaluation plans its windows first: each is scored or a fault, none is gone, and nothing of one bank leaks. */
import { readdir, rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Gateway, Writer } from '../gateway/contract.ts';
import { createGateway } from '../gateway/gateway.ts';
import type { Bank, Harness } from '../harness/contract.ts';
import { createPool } from '../lib/pool.ts';
import { rewardOptionsSchema } from '../reward/options.ts';
import { createMemoryHarness, type Moment } from '../testing/memory-harness.ts';
import { createScratch } from '../testing/scratch.ts';
import { toyEmbedder, toyTokenizer } from '../testing/toy-tokens.ts';
import { createToyExaminers, createToyWorld } from '../testing/toy-world.ts';
import { DEFAULT_BOOTSTRAP } from './bootstrap.ts';
import { type EvaluatedWindow, type EvaluationParts, evaluateWriter } from './evaluate.ts';
import { compareWriters, countFaults, scoredWindows, summariseWriter } from './writer-summary.ts';

let gateway: Gateway;
let root = '';
beforeAll(async () => {
  gateway = await createGateway({ embedder: toyEmbedder });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});
beforeEach(async () => {
  root = (await createScratch()).path;
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const artifacts = createToyWorld({ seed: 'e', users: 6, windowsPerUser: 3, chunksPerWindow: 1 });
const users = [...new Set(artifacts.map(({ window }) => window.userId))].map((userId) => ({
  userId,
  artifacts: artifacts.filter(({ window }) => window.userId === userId),
}));

/** Keeps every fact and nothing else, or every message. */
const careful: Writer = {
  kind: 'scripted',
  reply: (stage, messages) =>
    stage
      .read(messages)
      .newMessages.map((text, i) => `${text.includes('FACT') ? 'keep' : 'skip'} ${i}`)
      .join('\n'),
};
const verbatim: Writer = {
  kind: 'scripted',
  reply: (stage, messages) =>
    stage
      .read(messages)
      .newMessages.map((_, i) => `keep ${i}`)
      .join('\n'),
};

function evaluate(
  writer: Writer,
  change: Partial<EvaluationParts> = {},
): Promise<EvaluatedWindow[]> {
  const parts: EvaluationParts = {
    gateway,
    harness: createMemoryHarness(),
    writer,
    countTokens: toyTokenizer.count,
    examiners: createToyExaminers(),
    reward: rewardOptionsSchema.parse({ arm: 'no-penalty' }),
    pool: createPool(4),
    directory: root,
    ...change,
  };
  return evaluateWriter(parts, users, 'seed');
}

const bootstrap = { ...DEFAULT_BOOTSTRAP, resamples: 200, seed: 's' };

test('every planned window is scored, chains carry their bank, and no working bank is left', async () => {
  const windows = await evaluate(careful);
  expect(windows.map(({ artifact }) => artifact.window.id).sort()).toEqual(
    artifacts.map(({ window }) => window.id).sort(),
  );
  const scored = scoredWindows(windows);
  expect(scored).toHaveLength(18);
  for (const { userId } of users) {
    const chain = scored.filter((window) => window.userId === userId);
    expect(chain.map(({ rollout }) => rollout.parentHash).slice(1)).toEqual(
      chain.map(({ rollout }) => rollout.finalHash).slice(0, 2),
    );
  }
  expect(await readdir(root)).toEqual([]);
  expect(summariseWriter(windows, bootstrap)).toMatchObject({
    recall: 1,
    trapsRefused: 1,
    protocolErrorRate: 0,
  });
});

test('writers are told apart on the same chunks, with users as clusters', async () => {
  const [better, worse] = [await evaluate(careful), await evaluate(verbatim)];
  expect(summariseWriter(worse, bootstrap)).toMatchObject({ recall: 1, trapsRefused: 0 });
  const difference = compareWriters(better, worse, bootstrap);
  expect(difference.mean).toBeGreaterThan(0.3);
  expect(difference.low).toBeGreaterThan(0);
});

test('a chain ends with its first fault: later windows are faults by name, other users go on', async () => {
  const second = artifacts[1]?.window;
  const broken = ({ operation, chunkId }: Moment) =>
    operation === 'write' && chunkId === second?.chunks[0]?.id ? ('crash' as const) : undefined;
  const harness = createMemoryHarness({ misbehave: broken });
  const windows = await evaluate(careful, { harness });
  expect(windows).toHaveLength(18);
  const lost = windows.filter(({ kind }) => kind === 'fault');
  expect(lost.map(({ artifact }) => artifact.window.id)).toEqual(
    artifacts.slice(1, 3).map(({ window }) => window.id),
  );
  for (const window of lost) {
    expect(window).toMatchObject({ fault: { boundary: 'harness', message: 'the framework died' } });
  }
  expect(countFaults(windows)).toBe(2);
  expect(scoredWindows(windows)).toHaveLength(16);
  expect(await readdir(root)).toEqual([]);
});

test('our own ranking tells a writer’s fault from a ranker’s: what the framework does not find is still in the bank', async () => {
  const sound = createMemoryHarness();
  const blind: Harness = {
    ...sound,
    open: async (options) => blindfold(await sound.open(options)),
  };
  const ownRanking = { embedder: toyEmbedder, topK: 50 };
  const summary = summariseWriter(
    await evaluate(careful, { harness: blind, ownRanking }),
    bootstrap,
  );
  expect(summary.recall).toBe(0);
  expect(summary.ownRanking?.recall).toBe(1);
  expect(summariseWriter(await evaluate(careful), bootstrap)).not.toHaveProperty('ownRanking');
});

function blindfold(bank: Bank): Bank {
  return {
    write: (chunk) => bank.write(chunk),
    list: () => bank.list(),
    retrieve: async () => '',
    contentHash: () => bank.contentHash(),
    close: () => bank.close(),
    [Symbol.asyncDispose]: () => bank[Symbol.asyncDispose](),
  };
}
