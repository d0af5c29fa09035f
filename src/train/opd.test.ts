/** On the toy world distillation must approach its teacher, and every way a teacher can fail must stop it by name. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { FaultError } from '../core/outcome.ts';
import type { TopK } from '../core/policy.ts';
import type { Teacher } from '../engine/contract.ts';
import type { Gateway } from '../gateway/contract.ts';
import { createGateway } from '../gateway/gateway.ts';
import { readRollouts, readSteps } from '../store/read.ts';
import { createScratch } from '../testing/scratch.ts';
import { openToyPolicy } from '../testing/toy-policy.ts';
import { toyEmbedder } from '../testing/toy-tokens.ts';
import { trainOpd } from './opd.ts';
import type { OpdParts } from './parts.ts';
import { trainRl } from './rl.ts';
import {
  openToyRun,
  toyOpdOptions,
  toyOpdParts,
  toyRlOptions,
  toyRlParts,
} from './testing/toy-run.ts';

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

async function distil(steps: number, change: (parts: OpdParts) => Partial<OpdParts> = () => ({})) {
  const options = toyOpdOptions('s', steps);
  const parts = await toyOpdParts({ root, gateway });
  const changed = { ...parts, ...change(parts) };
  await using run = await openToyRun(join(root, 'run'), changed, options);
  return await trainOpd(run, changed, options);
}

type Answer = readonly (TopK | undefined)[];

function answering(change: (answer: Answer) => Answer): (parts: OpdParts) => Partial<OpdParts> {
  return ({ teacher }) => {
    const changed: Teacher = {
      vocabularySize: teacher.vocabularySize,
      topK: async (tokenIds, from, k) => change(await teacher.topK(tokenIds, from, k)),
    };
    return { teacher: changed };
  };
}

test('the student approaches the teacher, and each chunk starts from a candidate of the chunk before', async () => {
  const end = await distil(10);
  const records = await readSteps(join(root, 'run'));
  const losses = records.map(({ metrics: { loss } }) => loss ?? Number.NaN);
  expect(losses.at(-1)).toBeLessThan((losses[0] ?? Number.NaN) / 2);
  const { weights } = await openToyPolicy(end.kind === 'finished' ? end.checkpoint : '');
  expect(weights[0]).toBeGreaterThan(1);
  expect(weights[1]).toBeLessThan(-1);
  const rows = records.flatMap((record) => record.rows);
  const chosen = rows.flatMap(({ outcome }) => (outcome.kind === 'promoted' ? outcome.index : []));
  expect(new Set(chosen)).toEqual(new Set([0, 1]));
  for (const { sequence, windowIndex, parentHash } of rows.filter((row) => row.windowIndex > 0)) {
    const before = rows.find((r) => r.sequence === sequence && r.windowIndex === windowIndex - 1);
    expect(before?.outcome).toMatchObject({ kind: 'promoted', hash: parentHash });
  }
}, 30_000);

test('RL starts from the distilled weights alone: version and moments are its own', async () => {
  const distilled = await distil(2);
  if (distilled.kind !== 'finished') throw new Error('not distilled');
  const options = toyRlOptions('s', 1, 2);
  const startWeights = distilled.checkpoint;
  const parts = { ...(await toyRlParts({ root, gateway })), startWeights };
  await using run = await openToyRun(join(root, 'rl'), parts, options);
  await trainRl(run, parts, options);
  const [first] = await readRollouts(join(root, 'rl'), 0);
  expect(first?.writes_T[0]?.calls[0]?.segment?.policyVersion).toBe(0);
  const { weights } = await openToyPolicy(startWeights);
  const { weights: reinforced } = await openToyPolicy(run.lastCheckpoint ?? '');
  expect(Math.abs((reinforced[0] ?? Number.NaN) - (weights[0] ?? Number.NaN))).toBeLessThan(0.6);
}, 30_000);

test('another tokenizer is refused before anything runs', async () => {
  const other = { tokenizerHashes: { student: 'toy', teacher: 'other' } };
  await expect(distil(1, () => other)).rejects.toThrow('different tokenizers');
});

test.each([
  ['success status and no top-k', (answer: Answer) => answer.map(() => undefined), 'teacher-fault'],
  ['empty lists', (a: Answer) => a.map(() => ({ ids: [], logprobs: [] })), 'teacher-fault'],
  ['−∞ everywhere', (a: Answer) => a.map(withLogprobs(-Infinity)), 'teacher-fault'],
  ['a list that starts with none', ([, ...rest]: Answer) => [undefined, ...rest], 'teacher-fault'],
  ['a position short', (answer: Answer) => answer.slice(1), 'positions'],
  ['one candidate of two', (a: Answer) => a.map(firstOnly), 'candidates'],
  ['a shift by one', (a: Answer) => [...a.slice(1), ...a.slice(0, 1)], 'shifted'],
] as const)('BR-60, silent failure 2: %s stops the run by name', async (_, change, message) => {
  await expect(distil(1, answering(change))).rejects.toThrow(message);
  expect(await readSteps(join(root, 'run'))).toEqual([]);
});

test('one position without an answer is masked and counted; a teacher that is down on all of them stops the run', async () => {
  const blind: (parts: OpdParts) => Partial<OpdParts> = ({ teacher }) => {
    let asked = 0;
    const topK: Teacher['topK'] = async (tokenIds, from, k) => {
      asked += 1;
      if (asked === 1) throw new FaultError('teacher', 'HTTP 503');
      return await teacher.topK(tokenIds, from, k);
    };
    return { teacher: { vocabularySize: teacher.vocabularySize, topK } };
  };
  await expect(distil(1, blind)).rejects.toThrow(/teacher-fault: no top-k at \d+ of \d+/);
  const tolerant = { ...toyOpdOptions('s', 1), maxTeacherFaultShare: 0.9 };
  const parts = await toyOpdParts({ root, gateway });
  await using run = await openToyRun(join(root, 'tolerant'), parts, tolerant);
  await trainOpd(run, { ...parts, ...blind(parts) }, tolerant);
  const [record] = run.records;
  expect(record?.outcome.kind).toBe('updated');
  expect(record?.metrics['teacherFaultShare']).toBeGreaterThan(0);
  expect(record?.metrics['teacherFaultShare']).toBeLessThan(0.9);
});

function withLogprobs(value: number) {
  return (entry: TopK | undefined): TopK | undefined =>
    entry && { ids: entry.ids, logprobs: entry.logprobs.map(() => value) };
}

function firstOnly(entry: TopK | undefined): TopK | undefined {
  return entry && { ids: entry.ids.slice(0, 1), logprobs: entry.logprobs.slice(0, 1) };
}
