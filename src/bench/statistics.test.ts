/** Intervals, corrections and subsets against values worked out by hand or known in closed form. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRng } from '../lib/rng.ts';
import {
  bootstrapDifference,
  bootstrapMean,
  DEFAULT_BOOTSTRAP,
  type Estimate,
  type Observation,
  type PairedItem,
} from './bootstrap.ts';
import {
  equivalencePValue,
  holm,
  minimumDetectableEffect,
  pValue,
  verdictOf,
} from './comparison.ts';
import { chooseSubset } from './subset.ts';

const options = { ...DEFAULT_BOOTSTRAP, seed: 'test' };

function interval(estimate: Estimate): Extract<Estimate, { kind: 'interval' }> {
  if (estimate.kind !== 'interval') throw new Error(estimate.kind);
  return estimate;
}

/** One normal value a cluster, by Box and Muller. */
function normalClusters(count: number, mean: number, repeats: number): Observation[] {
  const rng = createRng(`normal ${count}`);
  return Array.from({ length: count }, (_, i) => {
    const value =
      mean + Math.sqrt(-2 * Math.log(1 - rng.next())) * Math.cos(2 * Math.PI * rng.next());
    return Array.from({ length: repeats }, () => ({ cluster: `u${i}`, value }));
  }).flat();
}

describe('cluster bootstrap', () => {
  test('the standard error is that of the cluster means, s·√((n − 1)/n)/√n', () => {
    const observations = normalClusters(40, 3, 1);
    const values = observations.map(({ value }) => value);
    const mean = values.reduce((a, b) => a + b) / 40;
    const population = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / 40);
    const estimate = interval(bootstrapMean(observations, options));
    expect(estimate.mean).toBeCloseTo(mean, 12);
    expect(estimate.standardError / (population / Math.sqrt(40))).toBeCloseTo(1, 1);
    expect((estimate.high - estimate.low) / (2 * 1.96 * estimate.standardError)).toBeCloseTo(1, 1);
  });

  test('ten copies of every user’s item add items, not certainty', () => {
    const once = interval(bootstrapMean(normalClusters(40, 3, 1), options));
    const tenfold = interval(bootstrapMean(normalClusters(40, 3, 10), options));
    expect(tenfold).toMatchObject({ clusters: 40, items: 400 });
    expect(tenfold.low).toBeCloseTo(once.low, 12);
    expect(tenfold.high).toBeCloseTo(once.high, 12);
  });

  test('items weigh the same, whatever the size of their cluster', () => {
    const observations = [
      ...Array.from({ length: 9 }, () => ({ cluster: 'big', value: 1 })),
      ...['a', 'b', 'c', 'd'].map((cluster) => ({ cluster, value: 0 })),
    ];
    expect(bootstrapMean(observations, options).mean).toBeCloseTo(9 / 13, 12);
  });

  test('a constant has an interval of no width; the same seed gives the same interval', () => {
    const constant = Array.from({ length: 8 }, (_, i) => ({ cluster: `u${i}`, value: 0.5 }));
    expect(bootstrapMean(constant, options)).toMatchObject({ low: 0.5, high: 0.5 });
    const noisy = normalClusters(12, 0, 2);
    expect(bootstrapMean(noisy, options)).toEqual(bootstrapMean(noisy, options));
    expect(bootstrapMean(noisy, { ...options, seed: 'other' })).not.toEqual(
      bootstrapMean(noisy, options),
    );
  });

  test('too few clusters: the mean, no interval, and it says so', () => {
    const observations = normalClusters(4, 0, 50);
    expect(bootstrapMean(observations, options)).toEqual({
      kind: 'too-few-clusters',
      mean: expect.any(Number),
      clusters: 4,
      items: 200,
      minClusters: 5,
    });
  });

  test('nothing observed, or nothing that is a number, is refused', () => {
    expect(() => bootstrapMean([], options)).toThrow('no observations');
    expect(() => bootstrapMean([{ cluster: 'u', value: Number.NaN }], options)).toThrow('NaN');
  });
});

describe('paired differences', () => {
  const items = (shift: number): PairedItem[] =>
    normalClusters(20, 0, 1).map(({ cluster, value }, i) => ({
      cluster,
      itemId: `i${i}`,
      value: value * 10 + shift,
    }));

  test('pairing removes what the users differ by', () => {
    const a = items(1);
    const b = items(0).reverse();
    expect(interval(bootstrapDifference(a, b, options)).low).toBeCloseTo(1, 9);
    expect(interval(bootstrapMean(a, options)).standardError).toBeGreaterThan(1);
  });

  test('an item missing on one side is refused, not left out', () => {
    expect(() => bootstrapDifference(items(1), items(0).slice(1), options)).toThrow('same items');
    const renamed = items(0).map((item, i) => (i === 0 ? { ...item, itemId: 'x' } : item));
    expect(() => bootstrapDifference(items(1), renamed, options)).toThrow('no partner');
    const doubled = items(0).map((item, i) => (i === 0 ? { ...item, itemId: 'i1' } : item));
    expect(() => bootstrapDifference(items(1), doubled, options)).toThrow('19 distinct');
  });
});

describe('comparison', () => {
  test('Holm’s adjustment, by hand', () => {
    const adjusted = holm([0.01, 0.04, 0.03, 0.005]);
    for (const [i, value] of [0.03, 0.06, 0.06, 0.02].entries()) {
      expect(adjusted[i]).toBeCloseTo(value, 12);
    }
    expect(holm([0.6, 0.9])).toEqual([1, 1]);
  });

  test('Holm never lowers a p-value and keeps their order', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 9 }), (ps) => {
        const adjusted = holm(ps);
        for (const [i, p] of ps.entries()) {
          expect(adjusted[i]).toBeGreaterThanOrEqual(p);
          for (const [j, q] of ps.entries()) {
            if (p < q) expect(adjusted[i]).toBeLessThanOrEqual(adjusted[j] ?? Number.NaN);
          }
        }
      }),
    );
  });

  const clusters = (spread: number, mean: number): Extract<Estimate, { kind: 'interval' }> =>
    interval(
      bootstrapMean(
        normalClusters(30, 0, 1).map(({ cluster, value }) => ({
          cluster,
          value: mean + spread * value,
        })),
        options,
      ),
    );

  test('different, tied and undecided', () => {
    const higher = clusters(1, 3);
    expect(pValue(higher)).toBeLessThan(0.001);
    expect(verdictOf(higher, pValue(higher), 0.5)).toBe('higher');
    const lower = clusters(1, -3);
    expect(verdictOf(lower, pValue(lower), 0.5)).toBe('lower');
    const tie = clusters(0.01, 0);
    expect(verdictOf(tie, 1, 0.5)).toBe('tie');
    const noisy = clusters(20, 0);
    expect(equivalencePValue(noisy, 0.5)).toBeGreaterThan(0.05);
    expect(verdictOf(noisy, 1, 0.5)).toBe('undecided');
  });

  test('a p-value is never 0: 10,000 resamples cannot say so', () => {
    expect(pValue(clusters(0.01, 5))).toBeCloseTo(2 / 10_001, 9);
  });

  test('the minimum detectable effect is 2.80 standard errors', () => {
    const estimate = clusters(1, 0);
    expect(minimumDetectableEffect(estimate) / estimate.standardError).toBeCloseTo(2.8016, 4);
  });
});

describe('subset', () => {
  const items = Array.from({ length: 53 }, (_, i) => ({
    id: `item-${i}`,
    stratum: i % 3 === 0 ? 'single' : 'multi',
    cluster: `u${i % 7}`,
  }));
  const subset = { benchmark: 'toy', salt: 'memwriter', share: 0.2 };

  test('⌈0.2 n⌉ of each stratum, whatever the order of the items', () => {
    const manifest = chooseSubset(items, subset);
    const { single, multi } = manifest.ids;
    expect(single).toHaveLength(4);
    expect(multi).toHaveLength(7);
    expect(manifest).toMatchObject({ items: 11, ...subset });
    expect(chooseSubset(items.toReversed(), subset)).toEqual(manifest);
  });

  test('the choice is pinned, to what sha256 says elsewhere too', () => {
    const { single } = chooseSubset(items, subset).ids;
    expect(single).toEqual(['item-0', 'item-12', 'item-21', 'item-3']);
  });

  test('salt, benchmark and stratum matter; an item outside a stratum does not', () => {
    const { hash, ids } = chooseSubset(items, subset);
    expect(chooseSubset(items, { ...subset, salt: 'other' }).ids).not.toEqual(ids);
    expect(chooseSubset(items, { ...subset, benchmark: 'other' }).hash).not.toBe(hash);
    const grown = [...items, { id: 'new', stratum: 'third', cluster: 'u' }];
    expect(chooseSubset(grown, subset).ids).toEqual({ ...ids, third: ['new'] });
  });

  test('rounding error adds no item: 0.28 of 25 is 7, though 0.28 · 25 > 7', () => {
    const even = items.slice(0, 25).map((item) => ({ ...item, stratum: 's' }));
    expect(0.28 * 25).toBeGreaterThan(7);
    expect(chooseSubset(even, { ...subset, share: 0.28 }).items).toBe(7);
  });

  test('two items of one id are refused', () => {
    const twice = items.slice(0, 1).flatMap((item) => [item, item]);
    expect(() => chooseSubset(twice, subset)).toThrow('two items of one id');
  });
});
