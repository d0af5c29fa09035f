/** On the toy world RL must learn, must fail to when its credit is turned round, and must resume to the same end. */
import { cp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Sample } from '../core/policy.ts';
import type { Gateway } from '../gateway/contract.ts';
import { createGateway } from '../gateway/gateway.ts';
import { createRng } from '../lib/rng.ts';
import { readSteps } from '../store/read.ts';
import { createMemoryHarness, type Moment } from '../testing/memory-harness.ts';
import { createScratch } from '../testing/scratch.ts';
import { createToyPolicy, type ToyPolicy } from '../testing/toy-policy.ts';
import { toyEmbedder } from '../testing/toy-tokens.ts';
import { createToyWorld } from '../testing/toy-world.ts';
import type { TrainEnd, TrainEvent } from './parts.ts';
import { trainRl } from './rl.ts';
import { openToyRun, type ToyRun, toyRlOptions, toyRlParts } from './testing/toy-run.ts';
import { RunCompleteError } from './trainer.ts';

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

interface Attempt extends Partial<ToyRun> {
  readonly seed?: string;
  readonly steps?: number;
  readonly groupSize?: number;
  readonly directory?: string;
}

async function train(attempt: Attempt): Promise<TrainEnd> {
  const { seed = 's', steps = 2, directory = 'run', groupSize = 3, ...toy } = attempt;
  const options = toyRlOptions(seed, steps, groupSize);
  const parts = await toyRlParts({ root, gateway, directory, ...toy });
  await using run = await openToyRun(join(root, directory), parts, options);
  return await trainRl(run, parts, options);
}

async function meanScores(directory = 'run'): Promise<number[]> {
  const steps = await readSteps(join(root, directory));
  return steps.map(({ metrics: { chunkScore } }) => chunkScore ?? Number.NaN);
}

/** Everything of a run but its times. */
async function identityOf(directory: string): Promise<Record<string, string>> {
  const base = join(root, directory);
  const files = await readdir(base, { recursive: true, withFileTypes: true });
  const kept = files.filter(
    (entry) => entry.isFile() && !/times\.jsonl|events\.jsonl|bank\.json/.test(entry.name),
  );
  const texts = await Promise.all(
    kept.map(async ({ parentPath, name }): Promise<[string, string]> => {
      const path = join(parentPath, name);
      return [path.slice(base.length), await readFile(path, 'utf8')];
    }),
  );
  const banks = await readdir(join(base, 'banks'));
  return Object.fromEntries([...texts.sort(), ['banks', banks.join()]]);
}

function altering(change: (sample: Sample, samples: readonly Sample[]) => Sample) {
  return (policy: ToyPolicy): ToyPolicy => {
    const step = policy.step.bind(policy);
    policy.step = (samples, loss, optimiser) =>
      step(
        samples.map((sample) => change(sample, samples)),
        loss,
        optimiser,
      );
    return policy;
  };
}

const flipped = altering((sample) =>
  sample.kind === 'policy-gradient' ? { ...sample, advantage: -sample.advantage } : sample,
);

/** Every advantage goes to another sample of its step: as much push as before, and none of it deserved. */
function shuffled(seed: string): NonNullable<Attempt['wrap']> {
  const rng = createRng(`${seed}/shuffle`);
  return (policy) => {
    const step = policy.step.bind(policy);
    policy.step = (samples, loss, optimiser) => {
      const credited = samples.filter((sample) => sample.kind === 'policy-gradient');
      const dealt = rng.shuffle(credited.map(({ advantage }) => advantage));
      const strangers = credited.map((sample, i) => ({
        ...sample,
        advantage: dealt[i] ?? Number.NaN,
      }));
      return step(strangers, loss, optimiser);
    };
    return policy;
  };
}

describe('learning', { timeout: 30_000 }, () => {
  const seeds = ['a', 'b', 'c'];
  const learn = async (
    seed: string,
    change: Attempt = {},
  ): Promise<[first: number, last: number]> => {
    const artifacts = createToyWorld({ seed, users: 2, windowsPerUser: 1, chunksPerWindow: 1 });
    await train({ seed, steps: 4, directory: seed, groupSize: 8, artifacts, ...change });
    const scores = await meanScores(seed);
    return [scores[0] ?? Number.NaN, scores.at(-1) ?? Number.NaN];
  };

  test('the chunk score rises, on every seed', async () => {
    for (const [first, last] of await Promise.all(seeds.map((seed) => learn(seed)))) {
      expect(last).toBeGreaterThan(first + 0.2);
    }
  });

  test('with the sign of the advantage flipped it falls, on every seed', async () => {
    for (const [first, last] of await Promise.all(
      seeds.map((seed) => learn(seed, { wrap: flipped })),
    )) {
      expect(last).toBeLessThan(first);
    }
  });

  test('with the advantages dealt out at random it gains nothing to speak of', async () => {
    const many = Array.from({ length: 8 }, (_, i) => `shuffled-${i}`);
    const runs = many.map((seed) => learn(seed, { wrap: shuffled(seed) }));
    const gains = (await Promise.all(runs)).map(([first, last]) => last - first);
    // Each gain is a random walk; with their own advantages the runs above gain 0.5.
    expect(gains.reduce((sum, gain) => sum + gain, 0) / gains.length).toBeLessThan(0.25);
  });
});

describe('resume', { timeout: 30_000 }, () => {
  test('a run stopped at any write ends byte-identical to one that was not', async () => {
    await train({ directory: 'whole' });
    const whole = await identityOf('whole');
    const stopAndResume = async (stopAfter: number): Promise<void> => {
      const directory = `stopped-${stopAfter}`;
      const controller = new AbortController();
      let writes = 0;
      const misbehave = ({ operation }: Moment) => {
        if (operation === 'write' && ++writes === stopAfter) controller.abort(new Error('stop'));
        return undefined;
      };
      const harnesses = [createMemoryHarness({ misbehave })];
      const end = await train({ directory, harnesses, signal: controller.signal });
      expect(end.kind).toBe('stopped');
      await train({ directory });
      expect(await identityOf(directory)).toEqual(whole);
    };
    await Promise.all([1, 11, 17, 22].map(stopAndResume));
  });

  test('BR-65: the sequence of windows and parents is that of an uninterrupted run, over a replica boundary too', async () => {
    await train({ steps: 5, directory: 'whole' });
    await train({ steps: 5, directory: 'parts', ...stopAt(3) });
    const stopped = await readSteps(join(root, 'parts'));
    expect(stopped).toHaveLength(3);
    await train({ steps: 5, directory: 'parts' });
    expect(await identityOf('parts')).toEqual(await identityOf('whole'));
    const rows = (await readSteps(join(root, 'parts'))).flatMap((record) => record.rows);
    expect(new Set(rows.map(({ sequence }) => sequence.split('/')[1]))).toEqual(
      new Set(['0', '1', '2']),
    );
  });

  test('BR-65: a run with nothing left to train is an error', async () => {
    await train({ steps: 1 });
    await expect(train({ steps: 1 })).rejects.toThrow(RunCompleteError);
  });

  test('a second seed gives another run', async () => {
    await train({ steps: 1, seed: 'a', directory: 'a' });
    await train({ steps: 1, seed: 'b', directory: 'b' });
    expect(await identityOf('a')).not.toEqual(await identityOf('b'));
  });
});

function stopAt(step: number): Pick<ToyRun, 'signal' | 'onEvent'> {
  const controller = new AbortController();
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'step-started' && event.step === step) controller.abort(new Error('stop'));
  };
  return { signal: controller.signal, onEvent };
}

describe('faults', { timeout: 30_000 }, () => {
  test('windows chain: the promoted bank is the parent of the next window of its sequence', async () => {
    await train({ steps: 3 });
    const rows = (await readSteps(join(root, 'run'))).flatMap((record) => record.rows);
    for (const { sequence, windowIndex, parentHash } of rows.filter((row) => row.windowIndex > 0)) {
      const before = rows.find(
        (row) => row.sequence === sequence && row.windowIndex === windowIndex - 1,
      );
      expect(before?.outcome).toMatchObject({ kind: 'promoted', hash: parentHash });
    }
  });

  test('BR-58: one faulted rollout has no vote and no number, the others train', async () => {
    const harnesses = [failing(({ directory }) => directory.endsWith('/0/3'))];
    await train({ steps: 1, groupSize: 8, harnesses });
    const [record] = await readSteps(join(root, 'run'));
    expect(record?.outcome.kind).toBe('updated');
    expect(record?.faults.rollouts).toEqual({ harness: 1 });
    expect(record?.rows.map(({ outcome }) => outcome.kind)).toEqual(['promoted', 'promoted']);
  });

  test('the retries of a chunk are the run’s own setting', async () => {
    let left = 1;
    const harnesses = [failing(({ directory }) => directory.endsWith('/0/3') && left-- > 0)];
    const defaults = toyRlOptions('s', 1);
    const options = { ...defaults, faults: { ...defaults.faults, chunkRetries: 0 } };
    const parts = await toyRlParts({ root, gateway, harnesses });
    await using run = await openToyRun(join(root, 'run'), parts, options);
    await trainRl(run, parts, options);
    expect(run.records[0]?.faults.rollouts).toEqual({ harness: 1 });
    expect(run.manifest.config).toMatchObject({ faults: { chunkRetries: 0 } });
  });

  test('a step with more than a tenth of its rollouts faulted is aborted, its windows are tried again and skipped', async () => {
    const harnesses = [failing(({ directory }) => /\/[01]\/[02]$/.test(directory))];
    const alarms: string[] = [];
    const onEvent = (event: TrainEvent): void => {
      if (event.type === 'alarm') alarms.push(event.message);
    };
    const attempt = train({ steps: 5, harnesses, onEvent });
    await expect(attempt).rejects.toThrow('3 steps in a row were aborted');
    expect(alarms).toEqual(Array(2).fill(expect.stringContaining('is skipped after 3 attempts')));
    const records = await readSteps(join(root, 'run'));
    expect(records.map(({ outcome }) => outcome.kind)).toEqual(['aborted', 'aborted', 'aborted']);
    expect(records.map(({ policyVersion }) => policyVersion)).toEqual([0, 0, 0]);
    expect(records[2]?.rows.map(({ outcome }) => outcome)).toEqual([
      { kind: 'void', skipped: true },
      { kind: 'void', skipped: true },
    ]);
  });

  test('BR-57: two steps in a row without a finite loss stop the run; weights and records stay', async () => {
    const wrap = altering((sample) =>
      sample.kind === 'policy-gradient' ? { ...sample, advantage: Number.NaN } : sample,
    );
    await expect(train({ steps: 4, wrap })).rejects.toThrow('not finite in steps 0 and 1');
    const records = await readSteps(join(root, 'run'));
    expect(records.map(({ policyVersion }) => policyVersion)).toEqual([0, 0]);
  });
});

test('BR-53: columns without variance train nothing, and too many of them raise an alarm', async () => {
  await createToyPolicy(join(root, 'start'), [1 - 1e-9, 1e-9, 1e-9, 1e-9]);
  const alarms: TrainEvent[] = [];
  const onEvent = (event: TrainEvent): void => {
    if (event.type === 'alarm') alarms.push(event);
  };
  await train({ steps: 1, onEvent });
  const [record] = await readSteps(join(root, 'run'));
  expect(record?.outcome.kind).toBe('skipped-empty');
  expect(record?.metrics).toMatchObject({ silentShare: 1, trainedTokens: 0, distinctBanks: 1 / 3 });
  expect(record?.policyVersion).toBe(0);
  expect(alarms).toHaveLength(1);
});

test('what identical questions on identical blocks saved is told with each step', async () => {
  // A decided writer writes much the same bank eight times.
  await createToyPolicy(join(root, 'start'), [0.97, 0.97, 0.97, 0.01]);
  const told: unknown[] = [];
  await train({
    steps: 1,
    groupSize: 8,
    onEvent: (event) => {
      if (event.type === 'step-committed') told.push(event.exam);
    },
  });
  const counts = z.object({ asked: z.number(), saved: z.number() });
  const [{ answers, grades }] = z
    .tuple([z.object({ answers: counts, grades: counts })])
    .parse(told);
  expect(answers.saved).toBeGreaterThan(0);
  expect(answers.saved).toBeLessThan(answers.asked);
  expect(grades.saved).toBeGreaterThan(0);
});

test('BR-61: an engine whose trainer sees other log-probabilities than its sampler stops the first step', async () => {
  const wrap = (policy: ToyPolicy): ToyPolicy => {
    const score = policy.score.bind(policy);
    policy.score = async (ids, from) => (await score(ids, from)).map((logprob) => logprob - 0.2);
    return policy;
  };
  await expect(train({ steps: 1, wrap })).rejects.toThrow('sampler and trainer disagree');
  expect(await readSteps(join(root, 'run'))).toEqual([]);
});

test.each([0, 0.7])(
  'BR-61: a writer that samples at temperature %d is refused before anything runs',
  async (temperature) => {
    const options = toyRlOptions('s', 1, 3);
    const parts = await toyRlParts({ root, gateway });
    const createWriter: typeof parts.createWriter = (engine) => {
      const writer = parts.createWriter(engine);
      return writer.kind === 'render' ? { ...writer, temperature } : writer;
    };
    await using run = await openToyRun(join(root, 'run'), parts, options);
    await expect(trainRl(run, { ...parts, createWriter }, options)).rejects.toThrow('RL needs 1');
    expect(run.records).toEqual([]);
  },
);

test('a held-out harness is trained on only when two settings say so', async () => {
  const harness = { ...createMemoryHarness(), heldOut: true };
  const attempt = async (allowHeldOut: string[]): Promise<TrainEnd> => {
    const options = { ...toyRlOptions('s', 1, 3), allowHeldOut };
    const parts = await toyRlParts({ root, gateway, harnesses: [harness] });
    await using run = await openToyRun(join(root, `run-${allowHeldOut.join()}`), parts, options);
    return await trainRl(run, parts, options);
  };
  await expect(attempt([])).rejects.toThrow('"memory" is held out');
  await expect(attempt(['memroy'])).rejects.toThrow('"memroy", which is not among');
  expect((await attempt(['memory'])).kind).toBe('finished');
});

function failing(when: (moment: Moment) => boolean) {
  return createMemoryHarness({
    misbehave: (moment) =>
      moment.operation === 'write' && when(moment) ? ('crash' as const) : undefined,
  });
}

test('a run killed between checkpoint and line redoes the step', { timeout: 30_000 }, async () => {
  await train({ steps: 2, directory: 'whole' });
  await train({ steps: 2, ...stopAt(1) });
  await cp(join(root, 'whole/checkpoints/000001'), join(root, 'run/checkpoints/000001'), {
    recursive: true,
  });
  await train({ steps: 2 });
  expect(await identityOf('run')).toEqual(await identityOf('whole'));
});
