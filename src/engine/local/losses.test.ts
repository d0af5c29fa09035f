import { describe, expect, test } from 'vitest';
import type { LossOptions } from '../contract.ts';
import { Tape } from './autodiff.ts';
import { createTypescriptExecutor } from './execute-typescript.ts';
import { floats, type Tensor, type Tensors } from './executor.ts';
import { buildLoss, type LossSpec } from './losses.ts';

const vector = (...values: number[]): Tensor => ({
  dims: [values.length],
  data: Float64Array.from(values),
});
const scalar = (value: number): Tensor => ({ dims: [], data: Float64Array.of(value) });

/** Loss and gradient with respect to the logits of one row per entry of `logits`. */
async function evaluate(spec: LossSpec, logits: readonly (readonly number[])[], feeds: Tensors) {
  const width = logits[0]?.length ?? 0;
  const tape = new Tape();
  const value = tape.graph.input('logits', ['rows', width]);
  const loss = buildLoss(tape, spec, value);
  const gradient = tape.backward(loss).get(value);
  if (gradient === undefined) throw new Error('the loss does not depend on the logits');
  tape.graph.output('loss', loss);
  tape.graph.output('gradient', gradient);
  tape.graph.prune();
  const program = await createTypescriptExecutor({ precision: 'double' }).compile(tape.graph, {
    alone: false,
  });
  const data = Float64Array.from(logits.flat());
  const results = await program.run({ logits: { dims: [logits.length, width], data }, ...feeds });
  return {
    loss: Number(floats(results, 'loss')[0]),
    gradient: Array.from(floats(results, 'gradient')),
    results,
  };
}

const P = [0.6, 0.25, 0.1, 0.05];
const Q = [0.5, 0.3, 0.05, 0.15];

function distillation(klArm: LossOptions['klArm'], student: readonly number[], entropyBonus = 0) {
  const inside = P.slice(0, 3);
  const mass = klArm === 'renormalised' ? inside.reduce((sum, p) => sum + p, 0) : 1;
  return evaluate(
    { kind: 'distillation', klArm, entropyBonus: entropyBonus > 0 },
    [student.map(Math.log)],
    {
      ids: { dims: [1, 3], data: Int32Array.of(0, 1, 2) },
      teacher: { dims: [1, 3], data: Float64Array.from(inside, (p) => Math.log(p / mass)) },
      valid: { dims: [1, 3], data: Float64Array.of(1, 1, 1) },
      teacherTail: vector(Math.log(0.05)),
      weight: vector(1),
      entropyBonus: scalar(entropyBonus),
    },
  );
}

describe('distillation (definitions §7)', () => {
  test('golden values of the tail bucket and of the truncated sum', async () => {
    expect((await distillation('tail', Q)).loss).toBeCloseTo(0.09367, 6);
    expect((await distillation('truncated', Q)).loss).toBeCloseTo(-0.071122, 6);
  });

  test('the tail arm is zero and flat where student and teacher agree', async () => {
    const { loss, gradient } = await distillation('tail', P);
    expect(loss).toBeCloseTo(0, 9);
    for (const slope of gradient) expect(slope).toBeCloseTo(0, 9);
  });

  test('the gradient is the linear form that other engines are sent', async () => {
    const { gradient } = await distillation('tail', Q);
    const tail = Math.log(0.15 / 0.05);
    const weights = P.slice(0, 3).map((p, k) => {
      const q = Q[k] ?? 0;
      return q * (Math.log(q / p) - tail);
    });
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [k, slope] of gradient.entries()) {
      expect(slope).toBeCloseTo((weights[k] ?? 0) - (Q[k] ?? 0) * total, 9);
    }
  });

  test('the truncated arm drives student mass out of the top k even at the teacher, the tail arm does not', async () => {
    const drain = (gradient: readonly number[]): number => gradient[3] ?? 0;
    expect(drain((await distillation('truncated', P)).gradient)).toBeLessThan(-0.01);
    expect(drain((await distillation('tail', P)).gradient)).toBeCloseTo(0, 9);
  });

  test('descent on the truncated arm drains the mass, on the tail arm it ends at the teacher', async () => {
    const descend = async (arm: 'tail' | 'truncated'): Promise<number> => {
      let logits = Q.map(Math.log);
      for (let step = 0; step < 120; step++) {
        const { gradient } = await distillation(arm, softmax(logits));
        logits = logits.map((logit, k) => logit - 2 * (gradient[k] ?? 0));
      }
      return softmax(logits)
        .slice(0, 3)
        .reduce((sum, q) => sum + q, 0);
    };
    expect(await descend('tail')).toBeCloseTo(0.95, 2);
    expect(await descend('truncated')).toBeLessThan(0.75);
  });

  test('the renormalised arm sees proportions only', async () => {
    const scaled = [0.6 * 0.8, 0.25 * 0.8, 0.1 * 0.8, 0.24];
    expect((await distillation('renormalised', scaled)).loss).toBeCloseTo(0, 9);
    const mass = 0.85;
    const expected = [0, 1, 2].reduce((sum, k) => {
      const q = (Q[k] ?? 0) / mass;
      return sum + q * Math.log(q / ((P[k] ?? 0) / 0.95));
    }, 0);
    expect((await distillation('renormalised', Q)).loss).toBeCloseTo(expected, 9);
  });

  test('the entropy bonus is subtracted', async () => {
    const plain = await distillation('tail', Q);
    const entropy = -Q.reduce((sum, q) => sum + q * Math.log(q), 0);
    expect((await distillation('tail', Q, 0.5)).loss).toBeCloseTo(plain.loss - 0.5 * entropy, 9);
    expect(floats(plain.results, 'entropy')[0]).toBeCloseTo(entropy, 9);
  });
});

describe('clipped surrogate (definitions §8)', () => {
  const surrogate = (ratio: number, advantage: number) =>
    evaluate({ kind: 'policy-gradient', klArm: 'tail', entropyBonus: false }, [Q.map(Math.log)], {
      ids: { dims: [1, 1], data: Int32Array.of(1) },
      recorded: vector(Math.log(0.3) - Math.log(ratio)),
      advantage: vector(advantage),
      weight: vector(1),
      lowest: scalar(0.8),
      highest: scalar(1.2),
    });

  test.each([
    { ratio: 1.5, advantage: 2, expected: -2.4, flat: true },
    { ratio: 0.5, advantage: 2, expected: -1, flat: false },
    { ratio: 1.1, advantage: 2, expected: -2.2, flat: false },
    { ratio: 0.5, advantage: -2, expected: 1.6, flat: true },
    { ratio: 1.5, advantage: -2, expected: 3, flat: false },
  ])('ratio $ratio, advantage $advantage: flat $flat', async (row) => {
    const { ratio, advantage, expected, flat } = row;
    const { loss, gradient } = await surrogate(ratio, advantage);
    expect(loss).toBeCloseTo(expected, 9);
    const slope = flat ? 0 : -advantage * ratio;
    for (const [k, value] of gradient.entries()) {
      expect(value).toBeCloseTo(slope * ((k === 1 ? 1 : 0) - (Q[k] ?? 0)), 9);
    }
  });
});

function softmax(logits: readonly number[]): number[] {
  const powers = logits.map(Math.exp);
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}
