import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type {
  CrossEntropySample,
  DistillationSample,
  PolicyGradientSample,
} from '../../core/policy.ts';
import { createRng } from '../../lib/rng.ts';
import type { PolicyEngine, StepReport } from '../contract.ts';
import { createLocalEngine, createLocalTeacher } from './engine.ts';
import type { Executor } from './executor.ts';
import type { LocalPolicy } from './policy-directory.ts';
import { loadPolicy } from './policy-directory.ts';
import { lazyExecutor } from './runtime.ts';
import { ADAM, LOSS, tinyPolicy } from './testing.ts';

const fail = (message: string): never => {
  throw new Error(message);
};
const OPTIONS = { threads: 1, warn: fail };

const segment = (seed: string, length: number): number[] => {
  const rng = createRng(seed);
  return Array.from({ length }, () => rng.int(0, 12));
};

const supervised = (seed: string, length: number): CrossEntropySample => ({
  kind: 'cross-entropy',
  tokenIds: segment(seed, length),
  from: 2,
  weights_N: Array.from({ length: length - 2 }, (_, i) => 1 + (i % 2)),
});

/** How far a step moved the weights, as one flat difference. */
async function movedBy(
  policy: LocalPolicy,
  step: () => Promise<StepReport>,
): Promise<Float32Array> {
  const before = policy.model.parameters.flat.slice();
  await step();
  return policy.model.parameters.flat.map((weight, i) => weight - Number(before[i]));
}

describe('a step', () => {
  test('lowers the loss of what it trains on', async () => {
    await using engine = createLocalEngine(tinyPolicy(), OPTIONS);
    const samples = [supervised('a', 12), supervised('b', 7)];
    const first = await engine.step(samples, LOSS, ADAM);
    for (let i = 0; i < 30; i++) await engine.step(samples, LOSS, ADAM);
    const last = await engine.step(samples, LOSS, ADAM);
    expect(first).toMatchObject({ outcome: 'updated', trainedTokens: 15 });
    expect(last.loss).toBeLessThan(first.loss / 2);
  });

  test('is the same for the same call, and for any split into micro-batches', async () => {
    const samples = Array.from({ length: 40 }, (_, i) => supervised(`s${i}`, 4 + (i % 50)));
    const run = async (microBatchTokens?: number) => {
      const policy = tinyPolicy();
      const limits = microBatchTokens === undefined ? {} : { microBatchTokens };
      await using engine = createLocalEngine(policy, { ...OPTIONS, ...limits });
      const report = await engine.step(samples, LOSS, ADAM);
      return { report, weights: policy.model.parameters.flat };
    };
    const whole = await run();
    expect(await run()).toEqual(whole);
    const split = await run(64);
    expect(split.report.loss).toBeCloseTo(whole.report.loss, 5);
    expect(split.report.gradNorm).toBeCloseTo(whole.report.gradNorm, 4);
  });

  test('with nothing to train leaves the weights alone', async () => {
    const policy = tinyPolicy();
    await using engine = createLocalEngine(policy, OPTIONS);
    const masked: DistillationSample = {
      kind: 'distillation',
      tokenIds: [1, 2, 3, 4],
      from: 2,
      teacher_N: [undefined, undefined],
    };
    for (const samples of [[], [masked]]) {
      let report: StepReport | undefined;
      const moved = await movedBy(policy, async () => {
        report = await engine.step(samples, LOSS, ADAM);
        return report;
      });
      expect(report).toMatchObject({ outcome: 'skipped-empty', trainedTokens: 0, loss: 0 });
      expect(moved.every((distance) => distance === 0)).toBe(true);
    }
  });

  test('with a loss or gradient that is not finite leaves the weights alone', async () => {
    const policy = tinyPolicy();
    await using engine = createLocalEngine(policy, OPTIONS);
    const broken: PolicyGradientSample = {
      kind: 'policy-gradient',
      tokenIds: [1, 2, 3, 4],
      from: 2,
      logprobs_N: [-200, -1],
      advantage: -1,
      weight: 1,
    };
    let report: StepReport | undefined;
    const moved = await movedBy(policy, async () => {
      report = await engine.step([broken], LOSS, ADAM);
      return report;
    });
    expect(report?.outcome).toBe('skipped-non-finite');
    expect(moved.every((distance) => distance === 0)).toBe(true);
  });

  test('refuses samples whose per-token lists do not fit their tokens', async () => {
    await using engine = createLocalEngine(tinyPolicy(), OPTIONS);
    const short = { ...supervised('a', 6), weights_N: [1] };
    await expect(engine.step([short], LOSS, ADAM)).rejects.toThrow(
      'weights_N has 1 entries for 4 response tokens',
    );
  });

  test('masked positions count neither above nor below the line', async () => {
    const teacher = createLocalTeacher(tinyPolicy({}, 4), OPTIONS);
    const tokenIds = segment('kl', 12);
    const opinions = await teacher.topK(tokenIds, 4, 5);
    const half = opinions.map((opinion, i) => (i < 4 ? opinion : undefined));
    const klOf = async (sample: DistillationSample): Promise<StepReport> => {
      await using engine = createLocalEngine(tinyPolicy(), OPTIONS);
      return engine.step([sample], LOSS, ADAM);
    };
    const masked = await klOf({ kind: 'distillation', tokenIds, from: 4, teacher_N: half });
    const cut = await klOf({
      kind: 'distillation',
      tokenIds: tokenIds.slice(0, 8),
      from: 4,
      teacher_N: opinions.slice(0, 4),
    });
    expect(masked.trainedTokens).toBe(4);
    expect(masked.loss).toBeCloseTo(cut.loss, 6);
  });
});

test('a saved engine goes on as if it had never stopped', async () => {
  const directory = join(await mkdtemp(join(tmpdir(), 'engine-')), 'policy');
  const samples = [supervised('a', 12), supervised('b', 7)];
  const policy = tinyPolicy();
  await using engine = createLocalEngine(policy, OPTIONS);
  await engine.step(samples, LOSS, ADAM);
  await engine.publish();
  await engine.save(directory);
  const next = await engine.step(samples, LOSS, ADAM);
  const loaded = await loadPolicy(directory);
  await using resumed = createLocalEngine(loaded, OPTIONS);
  expect(resumed.policyVersion).toBe(1);
  expect(await resumed.step(samples, LOSS, ADAM)).toEqual(next);
  expect(loaded.model.parameters.flat).toEqual(policy.model.parameters.flat);
  await rm(directory, { recursive: true });
});

test('where the native runtime does not load, the engine says so and goes on in TypeScript', async () => {
  const told: string[] = [];
  const warn = (message: string): void => {
    told.push(message);
  };
  const load = async (): Promise<Executor> => {
    throw new Error('no such library');
  };
  const executor = lazyExecutor({ threads: 1, warn }, load);
  const [first, second] = await Promise.all([executor(), executor()]);
  expect(first).toBe(second);
  expect(first.name).toBe('typescript');
  expect(told).toEqual([expect.stringContaining('no such library')]);
});

describe('distillation', () => {
  const K = 6;
  const texts = Array.from({ length: 6 }, (_, i) => segment(`text ${i}`, 20));

  /** The teacher's opinions of the texts; `shift` pairs each with the token before the right one. */
  async function samplesFrom(teacher: LocalPolicy, shift = 0): Promise<DistillationSample[]> {
    await using scorer = createLocalTeacher(teacher, OPTIONS);
    const samples = texts.map(async (tokenIds): Promise<DistillationSample> => {
      const opinions = await scorer.topK(tokenIds, 5 - shift, K);
      const teacher_N = opinions.slice(0, tokenIds.length - 5);
      return { kind: 'distillation', tokenIds, from: 5, teacher_N };
    });
    return Promise.all(samples);
  }

  test('of a student by itself has no divergence; a teacher shifted by one token has much', async () => {
    await using engine = createLocalEngine(tinyPolicy(), OPTIONS);
    const frozen = { ...ADAM, learningRate: 0 };
    const same = await engine.step(await samplesFrom(tinyPolicy()), LOSS, frozen);
    const shifted = await engine.step(await samplesFrom(tinyPolicy(), 1), LOSS, frozen);
    expect(Math.abs(same.metrics['kl'] ?? 1)).toBeLessThan(1e-5);
    expect(shifted.metrics['kl']).toBeGreaterThan(0.05);
    expect(same.metrics['entropy']).toBeGreaterThan(0);
  });

  test('brings the student to the teacher', async () => {
    await using engine = createLocalEngine(tinyPolicy({}, 1), OPTIONS);
    const samples = await samplesFrom(tinyPolicy());
    const first = await engine.step(samples, LOSS, ADAM);
    for (let step = 0; step < 40; step++) await engine.step(samples, LOSS, ADAM);
    const { metrics } = await engine.step(samples, LOSS, ADAM);
    expect(metrics['kl']).toBeLessThan((first.metrics['kl'] ?? 0) / 5);
    expect(metrics['studentMassOnTopK']).toBeGreaterThan(first.metrics['studentMassOnTopK'] ?? 1);
  });
});

test('a teacher gives the k likeliest tokens with their log-probabilities', async () => {
  await using engine = createLocalEngine(tinyPolicy(), OPTIONS);
  await using teacher = createLocalTeacher(tinyPolicy(), OPTIONS);
  const ids = segment('opinion', 9);
  const [opinion] = await teacher.topK(ids, 6, 4);
  const scores = await Promise.all(
    Array.from({ length: 13 }, async (_, id) =>
      Number((await engine.score([...ids.slice(0, 6), id], 6))[0]),
    ),
  );
  const ranked = [...scores.keys()].sort((a, b) => Number(scores[b]) - Number(scores[a]));
  expect(opinion?.ids).toEqual(ranked.slice(0, 4));
  for (const [k, logprob] of (opinion?.logprobs ?? []).entries()) {
    expect(logprob).toBeCloseTo(Number(scores[Number(ranked[k])]), 5);
  }
});

describe('policy gradient on a bandit', () => {
  const PROMPT = [1, 2, 3];
  const GOOD = 7;

  async function pull(engine: PolicyEngine, round: string): Promise<PolicyGradientSample[]> {
    const calls = Array.from({ length: 16 }, async (_, i) => {
      const options = { maxTokens: 1, temperature: 1, stopIds: [], seed: `${round} ${i}` };
      const { tokenIds, logprobs } = await engine.sample(PROMPT, options);
      return { tokenIds, logprobs, reward: tokenIds[0] === GOOD ? 1 : 0 };
    });
    const pulls = await Promise.all(calls);
    const mean = pulls.reduce((sum, { reward }) => sum + reward, 0) / pulls.length;
    return pulls.map(({ tokenIds, logprobs, reward }) => ({
      kind: 'policy-gradient',
      tokenIds: [...PROMPT, ...tokenIds],
      from: PROMPT.length,
      logprobs_N: logprobs,
      advantage: reward - mean,
      weight: 1 / pulls.length,
    }));
  }

  /** log p of the good arm before and after training with this sign of the credit. */
  async function train(sign: 1 | -1) {
    await using engine = createLocalEngine(tinyPolicy({}, 2), OPTIONS);
    const logprob = async (): Promise<number> =>
      Number((await engine.score([...PROMPT, GOOD], PROMPT.length))[0]);
    const before = await logprob();
    let report: StepReport | undefined;
    for (let round = 0; round < 20; round++) {
      const samples = await pull(engine, `${round}`);
      const signed = samples.map((sample) => ({ ...sample, advantage: sign * sample.advantage }));
      report = await engine.step(signed, LOSS, ADAM);
      await engine.publish();
    }
    return { change: (await logprob()) - before, report };
  }

  test('improves the good arm, and worsens it when the sign of the credit is flipped', async () => {
    const { change, report } = await train(1);
    expect(change).toBeGreaterThan(1);
    expect(report?.metrics['ratioMean']).toBeCloseTo(1, 4);
    expect(report?.metrics['clipShare']).toBe(0);
    expect((await train(-1)).change).toBeLessThan(-0.3);
  });
});
