/** Column advantages: golden values, invariants, arms, and the mutants that must not pass (definitions §6). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ScoredRollout } from '../core/trace.ts';
import { aFault, aScoredRollout } from '../testing/trace-builders.ts';
import { columnAdvantages, creditGroup, discountedReturns } from './advantages.ts';
import { groupKey } from './group.ts';
import { type CreditOptions, creditOptionsSchema, creditPresets } from './options.ts';

const { recommended, article } = creditPresets;

function groupOf(table: readonly (readonly number[])[]): ScoredRollout[] {
  return table.map((scores_T, index) => aScoredRollout(scores_T, { index }));
}

function advantagesOf(table: readonly (readonly number[])[], options: Partial<CreditOptions> = {}) {
  const credited = creditGroup(groupOf(table), {
    ...recommended,
    groupSize: table.length,
    ...options,
  });
  return credited.map(({ advantages_T }) => advantages_T);
}

describe('golden values', () => {
  test('a 0.001 gap becomes 1.728 under the article and 0.015 floored', () => {
    const scores = [0.9, 0.9, 0.9, 0.901];
    expect(columnAdvantages(scores, article)[3]).toBeCloseTo(1.728, 3);
    expect(columnAdvantages(scores, recommended)[3]).toBeCloseTo(0.015, 4);
  });

  test('BR-53: equal scores give exactly 0, and do not touch another column', () => {
    const equal = Array<number>(8).fill(0.4);
    const other = [0.1, 0.9, 0.5, 0.5, 0.3, 0.7, 0.2, 0.6];
    for (const options of [recommended, article, { ...recommended, normaliser: 'mean' } as const]) {
      expect(columnAdvantages(equal, options)).toEqual(Array(8).fill(0));
      const both = advantagesOf(
        other.map((score, i) => [equal[i] ?? Number.NaN, score]),
        options,
      );
      expect(both.map(([, advantage]) => advantage)).toEqual(columnAdvantages(other, options));
    }
  });

  test('BR-55: one vote per rollout and chunk, whatever the number of calls', () => {
    const scores = [0.9, 0.2, 0.4, 0.5, 0.3, 0.6, 0.1, 0.8];
    const calls = [5, 1, 1, 1, 1, 1, 1, 1];
    const advantages = columnAdvantages(scores, article);
    expect(advantages[0]).toBeCloseTo(1.614, 3);
    expect(advantages[5]).toBeCloseTo(0.475, 3);
    const flattened = scores.flatMap((score, i) => Array<number>(calls[i] ?? 0).fill(score));
    const mutant = columnAdvantages(flattened, article);
    expect(mutant[0]).toBeCloseTo(0.964, 3);
    expect(mutant[9]).toBeCloseTo(-0.057, 3);
  });

  test('BR-57: one valid score, or none, gives 0 and never NaN', () => {
    const group = groupOf([[0.7], ...Array<number[]>(7).fill([0])]);
    const fault = (rollout: ScoredRollout): ScoredRollout => ({
      ...rollout,
      outcome: aFault('harness'),
      scores_T: [],
    });
    const one = creditGroup([...group.slice(0, 1), ...group.slice(1).map(fault)], recommended);
    expect(one.map(({ advantages_T }) => advantages_T)).toEqual([[0], [], [], [], [], [], [], []]);
    const none = creditGroup(group.map(fault), recommended);
    expect(none.every(({ advantages_T }) => advantages_T.length === 0)).toBe(true);
  });

  test('BR-58: a failed rollout has no vote; a wrong 0 would hide the worst write', () => {
    const valid = [0.6, 0.7, 0.5, 0.65, 0.55, 0.6, 0.7];
    const group = groupOf([...valid, 0].map((score) => [score]));
    const failed = group.map((rollout, i) =>
      i < 7 ? rollout : { ...rollout, outcome: aFault('harness', 'time-out'), scores_T: [] },
    );
    const right = creditGroup(failed, { ...article });
    expect(right[2]?.advantages_T[0]).toBeCloseTo(-1.65, 2);
    expect(right[7]?.advantages_T).toEqual([]);
    const wrong = creditGroup(group, { ...article });
    expect(wrong[2]?.advantages_T[0]).toBeCloseTo(-0.18, 2);
  });

  test('BR-58: a malformed action stays in, with its low score', () => {
    const [malformed] = advantagesOf([[-0.5], [0.6], [0.7], [0.65]]);
    expect(malformed?.[0]).toBeLessThan(-1.6);
  });
});

describe('invariants', () => {
  const score = fc.double({ min: -0.5, max: 3, noNaN: true });
  const column = fc.array(score, { minLength: 2, maxLength: 8 });
  const normaliser = fc.constantFrom('floored', 'article', 'mean') as fc.Arbitrary<
    CreditOptions['normaliser']
  >;
  const optionsOf = (name: CreditOptions['normaliser']) => ({ ...recommended, normaliser: name });

  test('advantages of a column sum to 0', () => {
    fc.assert(
      fc.property(column, normaliser, (scores, name) => {
        const sum = columnAdvantages(scores, optionsOf(name)).reduce((a, b) => a + b, 0);
        expect(Math.abs(sum)).toBeLessThan(1e-6);
      }),
    );
  });

  test('adding a constant changes nothing', () => {
    const coarse = fc.array(fc.integer({ min: -50, max: 300 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(coarse, fc.integer({ min: -9, max: 9 }), normaliser, (cents, constant, name) => {
        const scores = cents.map((cent) => cent / 100);
        const before = columnAdvantages(scores, optionsOf(name));
        const after = columnAdvantages(
          scores.map((value) => value + constant),
          optionsOf(name),
        );
        for (const [i, value] of before.entries()) expect(after[i]).toBeCloseTo(value, 6);
      }),
    );
  });

  test('permuting rollouts permutes advantages', () => {
    fc.assert(
      fc.property(column, normaliser, (scores, name) => {
        const there = columnAdvantages(scores, optionsOf(name));
        const back = columnAdvantages(scores.toReversed(), optionsOf(name)).reverse();
        for (const [i, value] of there.entries()) expect(back[i]).toBeCloseTo(value, 9);
      }),
    );
  });

  test('floored advantages are never larger than scores over the floor', () => {
    fc.assert(
      fc.property(column, (scores) => {
        const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
        for (const [i, value] of columnAdvantages(scores, recommended).entries()) {
          const bound = Math.abs((scores[i] ?? Number.NaN) - mean) / 0.05;
          expect(Math.abs(value)).toBeLessThanOrEqual(bound + 1e-9);
        }
      }),
    );
  });
});

describe('arms and options', () => {
  const table = [
    [1, 0, 2],
    [0, 0, 1],
    [1, 3, 0],
    [0, 1, 1],
  ];

  test('chunk: each column by itself', () => {
    const columns = [0, 1, 2].map((t) =>
      columnAdvantages(
        table.map((row) => row[t] ?? Number.NaN),
        recommended,
      ),
    );
    expect(advantagesOf(table)).toEqual(
      [0, 1, 2, 3].map((i) => columns.map((column) => column[i])),
    );
  });

  test('window: every chunk carries its row total’s advantage', () => {
    const totals = columnAdvantages([3, 1, 4, 2], recommended);
    expect(advantagesOf(table, { arm: 'window' })).toEqual(totals.map((a) => [a, a, a]));
  });

  test('γ = 0 is s exactly; γ = 1 is what is still to come', () => {
    expect(discountedReturns([0.1, 0.2, 0.7], 0)).toEqual([0.1, 0.2, 0.7]);
    expect(discountedReturns([1, 2, 4], 1)).toEqual([7, 6, 4]);
    expect(discountedReturns([1, 2, 4], 0.5)).toEqual([3, 4, 4]);
  });

  test('a voided column has advantage 0 and leaves the others alone', () => {
    const group = groupOf(table).map((rollout) => ({
      ...rollout,
      scores_T: rollout.scores_T.map((chunk, t) =>
        t === 1 ? { ...chunk, voidedTerms: ['prm' as const] } : chunk,
      ),
    }));
    const credited = creditGroup(group, { ...recommended, groupSize: 4 });
    const untouched = advantagesOf(table);
    expect(credited.map(({ advantages_T }) => advantages_T)).toEqual(
      untouched.map(([first, , third]) => [first, 0, third]),
    );
  });

  test('the presets are the recommended and the literal reading', () => {
    expect(recommended).toMatchObject({ normaliser: 'floored', sigmaFloor: 0.05, gamma: 0 });
    expect(article).toMatchObject({ normaliser: 'article', lossMass: 'token' });
    expect(() => creditOptionsSchema.parse({ sigmaflor: 0.1 })).toThrow('sigmaflor');
    expect(() => creditOptionsSchema.parse({ arm: 'no-trap' })).toThrow('arm');
  });
});

describe('BR-56: the group is window × configuration × sequence, with all its members', () => {
  const group = groupOf([[0.1], [0.2], [0.3], [0.4], [0.5], [0.6], [0.7], [0.8]]);

  function withFirst(change: Partial<ScoredRollout>): ScoredRollout[] {
    return group.map((rollout, i) => (i === 0 ? { ...rollout, ...change } : rollout));
  }

  test('eight rollouts of one key are credited', () => {
    expect(creditGroup(group, recommended)).toHaveLength(8);
    expect(new Set(group.map(groupKey)).size).toBe(1);
  });

  test('a key per rollout leaves a group of one, which is refused', () => {
    expect(() => creditGroup(group.slice(0, 1), recommended)).toThrow('has 1 rollouts, expected 8');
  });

  test.each([
    ['configuration', { configuration: 'memos' }],
    ['window', { windowId: 'another' }],
    ['sequence', { sequence: 'user#1' }],
  ])('a key without the %s mixes groups, which is refused', (_name, change) => {
    expect(() => creditGroup(withFirst(change), recommended)).toThrow('in group');
  });

  test('a key without the chunk mixes positions: the column would be another', () => {
    const table = [
      [0, 1],
      [1, 0],
    ];
    expect(advantagesOf(table)).toEqual([
      [-1, 1],
      [1, -1],
    ]);
    expect(columnAdvantages(table.flat(), recommended)).not.toEqual([-1, 1]);
    const short = groupOf([[0, 1], [1]]);
    expect(() => creditGroup(short, { ...recommended, groupSize: 2 })).toThrow('not scored on');
  });

  test('a bank not carried over: members from two parent banks are refused', () => {
    expect(() => creditGroup(withFirst({ parentHash: 'empty' }), recommended)).toThrow(
      'two parent banks',
    );
  });

  test('one rollout counted twice is refused', () => {
    expect(() => creditGroup(withFirst({ index: 3 }), recommended)).toThrow('two rollouts of one');
  });
});

test('a score that is not a number is a bug', () => {
  expect(() => columnAdvantages([0.1, Number.NaN], recommended)).toThrow('non-finite score');
});
