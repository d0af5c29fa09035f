/** The eight silent failures of the article, each injected into a whole run and shown to be caught. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Call } from '../core/trace.ts';
import type { Gateway } from '../gateway/contract.ts';
import { createGateway } from '../gateway/gateway.ts';
import type { Harness } from '../harness/contract.ts';
import { readRollouts, readSteps } from '../store/read.ts';
import type { StepRecord } from '../store/schema.ts';
import { createMemoryHarness, type Misbehaviour, type Moment } from '../testing/memory-harness.ts';
import { createScratch } from '../testing/scratch.ts';
import { createToyPolicy } from '../testing/toy-policy.ts';
import { toyEmbedder } from '../testing/toy-tokens.ts';
import { trainOpd } from './opd.ts';
import { trainRl } from './rl.ts';
import {
  openToyRun,
  type ToyRun,
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

interface Injection extends Partial<ToyRun> {
  readonly steps?: number;
  readonly configurations?: string[];
}

async function train({ steps = 1, configurations = ['memory'], ...toy }: Injection): Promise<void> {
  const options = { ...toyRlOptions('s', steps, 2), configurations };
  const parts = await toyRlParts({ root, gateway, ...toy });
  await using run = await openToyRun(join(root, 'run'), parts, options);
  await trainRl(run, parts, options);
}

function misbehaving(misbehave: (moment: Moment) => Misbehaviour | undefined): Harness[] {
  return [createMemoryHarness({ misbehave })];
}

/** The platform's failure: on record with its boundary, nothing learned, nothing promoted. */
async function expectAborted(boundary: string): Promise<void> {
  const [record] = (await readSteps(join(root, 'run'))) as [StepRecord];
  expect(record.outcome.kind).toBe('aborted');
  expect(Object.keys(record.faults.rollouts)).toEqual([boundary]);
  expect(record.policyVersion).toBe(0);
  expect(record.rows.map(({ outcome }) => outcome.kind)).toEqual(['void', 'void']);
  expect(await readdir(join(root, 'run/banks'))).toEqual([]);
  for (const { total, scores_T } of await readRollouts(join(root, 'run'), 0)) {
    expect({ total, scores_T }).toEqual({ total: undefined, scores_T: [] });
  }
}

test('1: a bank that is not carried over to the next window stops the run', async () => {
  const harnesses = misbehaving(({ operation, directory }) =>
    operation === 'open' && directory.includes('step-1') ? 'forget-parent' : undefined,
  );
  await expect(train({ steps: 2, harnesses })).rejects.toThrow('bank not carried over');
  expect(await readSteps(join(root, 'run'))).toHaveLength(1);
});

test('2: a teacher without top-k but with a success status stops the run', async () => {
  const options = toyOpdOptions('s', 1);
  const parts = await toyOpdParts({ root, gateway });
  const { vocabularySize } = parts.teacher;
  const teacher = {
    vocabularySize,
    topK: async (tokenIds: readonly number[], from: number) =>
      tokenIds.slice(from).map(() => undefined),
  };
  await using run = await openToyRun(join(root, 'run'), parts, options);
  await expect(trainOpd(run, { ...parts, teacher }, options)).rejects.toThrow('teacher-fault');
});

test('3: a missing chunk-to-segment map stops the run', async () => {
  const withoutSegments = ({ segment: _, ...call }: Call): Call => call;
  const forgetful: Gateway = {
    baseUrl: gateway.baseUrl,
    refusals: gateway.refusals,
    openSlot: (options) => {
      const slot = gateway.openSlot(options);
      const take = slot.take.bind(slot);
      slot.take = () => take().map(withoutSegments);
      return slot;
    },
    [Symbol.asyncDispose]: async () => {},
  };
  await expect(train({ gateway: forgetful })).rejects.toThrow('missing chunk-to-segment map');
});

test('4: a configuration that is planned and leaves no records stops the run by name', async () => {
  const memory = createMemoryHarness();
  const impostor: Harness = { ...createMemoryHarness(), configuration: 'memory' };
  const parts = await toyRlParts({ root, gateway });
  const options = { ...toyRlOptions('s', 1, 2), configurations: ['memory', 'other'] };
  const harnesses = new Map([
    ['memory', memory],
    ['other', impostor],
  ]);
  await using run = await openToyRun(join(root, 'run'), parts, options);
  const attempt = trainRl(run, { ...parts, harnesses }, options);
  await expect(attempt).rejects.toThrow(/configuration "\w+" was planned/);
});

test('5: a capped listing is a fault of the store', async () => {
  const capped = ({ operation }: Moment) =>
    operation === 'list' ? ('cap-listing' as const) : undefined;
  await createToyPolicy(join(root, 'start'), [0.99, 0.99, 0.99, 0.001]);
  await train({ harnesses: misbehaving(capped) });
  await expectAborted('store');
});

test('6: a failed write never becomes an empty bank that counts as done', async () => {
  const wiped = ({ operation }: Moment) => (operation === 'write' ? ('wipe' as const) : undefined);
  await createToyPolicy(join(root, 'start'), [0.99, 0.99, 0.99, 0.001]);
  await train({ harnesses: misbehaving(wiped) });
  await expectAborted('store');
});

test('7: a request on the wrong rollout’s address is refused and attached to none', async () => {
  const before = gateway.refusals.count;
  await train({ harnesses: misbehaving(() => 'wrong-slot') });
  expect(gateway.refusals.count).toBeGreaterThan(before);
  const rollouts = await readRollouts(join(root, 'run'), 0);
  const valid = rollouts.filter(({ outcome }) => outcome.kind === 'ok');
  expect(valid.map(({ writes_T }) => writes_T.map(({ calls }) => calls.length))).toEqual([[1, 1]]);
});

test('8: a format error is a bad action with a low score, and it trains', async () => {
  await createToyPolicy(join(root, 'start'), [0.5, 0.5, 0.5, 0.5]);
  await train({ steps: 1 });
  const [record] = (await readSteps(join(root, 'run'))) as [StepRecord];
  expect(record.faults.rollouts).toEqual({});
  expect(record.outcome.kind).toBe('updated');
  const writes = (await readRollouts(join(root, 'run'), 0)).flatMap((rollout) =>
    rollout.writes_T.map(({ outcome }, t) => ({
      kind: outcome.kind,
      score: rollout.scores_T[t]?.score,
    })),
  );
  const bad = writes.filter(({ kind }) => kind === 'policy-error');
  expect(bad.length).toBeGreaterThan(0);
  expect(bad.map(({ score }) => score)).toEqual(bad.map(() => -0.5));
  expect(writes.length - bad.length).toBeGreaterThan(0);
});
