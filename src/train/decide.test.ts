/** Promotion, admission and tripwires decide by the definitions. */
import { expect, test } from 'vitest';
import type { PolicyGradientSample } from '../core/policy.ts';
import type { CreditedRollout } from '../core/trace.ts';
import { trainedSegments } from '../credit/segments.ts';
import { createRng } from '../lib/rng.ts';
import type { StepRecord } from '../store/schema.ts';
import { sampleCall, sampleRollout } from '../testing/sample-records.ts';
import { createToyWorld } from '../testing/toy-world.ts';
import { admitStep, assertAllPresent } from './admit.ts';
import { faultOptionsSchema, parseRlOptions } from './options.ts';
import { chooseBest, chooseCandidate } from './promote.ts';
import type { PlannedRow } from './schedule.ts';
import { assertMassHolds, assertSamplerAgrees } from './tripwires.ts';

const fault = { kind: 'fault' as const, boundary: 'harness' as const, message: 'down' };
const limits = faultOptionsSchema.parse({});

function group(totals: readonly (number | 'fault')[], bankTokens: readonly number[] = []) {
  return totals.map((total, index): CreditedRollout => {
    const place = { index, bankTokens: bankTokens[index] ?? 10 };
    if (total !== 'fault') return sampleRollout({ ...place, total });
    const { total: _, ...rest } = sampleRollout({ ...place, outcome: fault, writes_T: [] });
    return { ...rest, scores_T: [], advantages_T: [] };
  });
}

test('a preset stands where the input says nothing, and gives way where it does', () => {
  const article = parseRlOptions({ preset: 'article', steps: 1, configurations: ['mem0'] });
  expect(article.credit).toMatchObject({ normaliser: 'article', lossMass: 'token' });
  const mixed = parseRlOptions({
    preset: 'article',
    steps: 1,
    configurations: ['mem0'],
    credit: { lossMass: 'chunk-mean' },
  });
  expect(mixed.credit).toMatchObject({ normaliser: 'article', lossMass: 'chunk-mean' });
});

test('the highest total is promoted; a tie goes to the smaller bank, then to the lower index', () => {
  expect(chooseBest(group([0.1, 0.9, 0.5]))).toBe(1);
  expect(chooseBest(group([0.9, 0.9, 0.9], [10, 5, 5]))).toBe(1);
  expect(chooseBest(group([-0.5, 'fault', -0.7]))).toBe(0);
  expect(chooseBest(group(['fault', 'fault']))).toBeUndefined();
});

test('stage 1 chooses among the valid candidates alone, each with the same chance', () => {
  const rng = createRng('choose');
  const chosen = Array.from({ length: 300 }, () => chooseCandidate(group(['fault', 1, 0]), rng));
  expect(new Set(chosen)).toEqual(new Set([1, 2]));
  expect(chosen.filter((index) => index === 1).length).toBeGreaterThan(100);
  expect(chooseCandidate(group(['fault']), rng)).toBeUndefined();
});

test('a step is aborted above 10 % rollout faults or 5 % item faults, and not at them', () => {
  const rollouts = (faults: number) =>
    group(Array.from({ length: 20 }, (_, i) => (i < faults ? 'fault' : 1)));
  expect(admitStep(rollouts(2), limits).kind).toBe('admitted');
  expect(admitStep(rollouts(3), limits)).toMatchObject({ kind: 'aborted', reason: /3 of 20/ });
  const withItems = (faults: number) => [
    sampleRollout({
      results: Array.from({ length: 20 }, (_, i) => ({
        itemId: `i${i}`,
        result:
          i < faults
            ? { ...fault, boundary: 'judge' as const }
            : { kind: 'graded' as const, score: 1, credits: {} },
      })),
    }),
  ];
  expect(admitStep(withItems(1), limits).kind).toBe('admitted');
  expect(admitStep(withItems(2), limits).kind).toBe('aborted');
});

test('silent failure 4: a planned configuration without records stops the run by name', () => {
  const [artifact] = createToyWorld({ seed: 'w', users: 1, windowsPerUser: 1, chunksPerWindow: 1 });
  if (artifact === undefined) throw new Error('no window');
  const windowId = artifact.window.id;
  const plan = ['mem0', 'memos'].map(
    (configuration): PlannedRow => ({
      configuration,
      sequence: 'ada/0',
      artifact,
      windowIndex: 0,
      attempt: 0,
      parentHash: undefined,
    }),
  );
  const of = (configuration: string) => sampleRollout({ configuration, windowId });
  expect(() => assertAllPresent(plan, [of('mem0'), of('memos')], 1)).not.toThrow();
  expect(() => assertAllPresent(plan, [of('mem0')], 1)).toThrow('"memos" was planned');
  expect(() => assertAllPresent(plan, [of('mem0'), of('mem0')], 1)).toThrow('"mem0" was planned');
});

test('BR-61: a sampler at another temperature than the trainer is refused before the first update', async () => {
  const [cold, warm] = [-0.2026, -0.4076];
  const sample: PolicyGradientSample = {
    kind: 'policy-gradient',
    tokenIds: [1, 2, 3],
    from: 1,
    logprobs_N: [cold, cold],
    advantage: 1,
    weight: 1,
  };
  const engine = (logprob: number) => ({ score: async () => [logprob, logprob] });
  await expect(assertSamplerAgrees(engine(warm), [sample])).rejects.toThrow('disagree');
  expect(await assertSamplerAgrees(engine(cold + 1e-5), [sample])).toBeCloseTo(1, 3);
  // Errors that cancel in the mean ratio are still errors.
  const cancelling = { score: async () => [cold + 0.2, cold - 0.2] };
  await expect(assertSamplerAgrees(cancelling, [sample])).rejects.toThrow('disagree');
});

test('BR-59: student mass that leaks out of the teacher’s top k stops the run', () => {
  const records = (masses: readonly number[]) =>
    masses.map(
      (studentMassOnTopK, step): StepRecord => ({
        step,
        outcome: { kind: 'updated' },
        rows: [],
        policyVersion: step,
        metrics: { studentMassOnTopK },
        faults: { rollouts: {}, items: {} },
        files: {},
        checkpoint: true,
      }),
    );
  const leaking = Array.from({ length: 12 }, (_, i) => 0.92 - i * 0.025);
  expect(() => assertMassHolds(records(leaking))).toThrow('leaks');
  expect(() => assertMassHolds(records(leaking.toReversed()))).not.toThrow();
  expect(() => assertMassHolds(records(leaking.slice(0, 9)))).not.toThrow();
});

test('silent failure 3: a write call without tokens is never trained around', () => {
  const { segment: _, ...bare } = sampleCall();
  const [write] = sampleRollout().writes_T;
  if (write === undefined) throw new Error('no write');
  const broken = sampleRollout({ writes_T: [{ ...write, calls: [sampleCall(), bare] }] });
  expect(() => trainedSegments([broken])).toThrow('missing chunk-to-segment map');
  const silent = sampleRollout({ writes_T: [{ ...write, calls: [] }] });
  expect(() => trainedSegments([silent])).toThrow('no write call is recorded');
  const overflow = { ...bare, stopReason: 'overflow' as const };
  const reading = { ...bare, purpose: 'retrieve' as const };
  const whole = sampleRollout({
    writes_T: [{ ...write, calls: [sampleCall(), overflow, reading] }],
  });
  expect(trainedSegments([whole])).toHaveLength(1);
});
