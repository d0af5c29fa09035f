/** The growth penalty's golden values (definitions §5). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { growthOptionsSchema } from './options.ts';
import { growthPenalty, growthRatio } from './penalty.ts';

const options = growthOptionsSchema.parse({});

test.each([
  [0, 0],
  [0.5, 0],
  [0.55, 0.018331],
  [0.6, 0.043075],
  [0.7, 0.121564],
  [0.75, 0.182426],
  [0.8, 0.26458],
  [0.9, 0.525171],
  [0.95, 0.727238],
  [1, 1],
  [7, 1],
])('x = %f costs %f', (ratio, expected) => {
  expect(growthPenalty(ratio, options)).toBeCloseTo(expected, 6);
});

test('k → 0 equals the linear ramp', () => {
  const ratios = fc.double({ min: 0, max: 2, noNaN: true });
  fc.assert(
    fc.property(ratios, (x) => {
      const ramp = Math.min(1, Math.max(0, (x - 0.5) / 0.5));
      expect(growthPenalty(x, { ...options, steepness: 0 })).toBeCloseTo(ramp, 12);
      expect(growthPenalty(x, { ...options, steepness: 1e-9 })).toBeCloseTo(ramp, 8);
    }),
  );
});

test('a shrinking bank pays nothing and earns no bonus', () => {
  const ratio = growthRatio({ tokensBefore: 900, tokensAfter: 100, chunkTokens: 200 }, options);
  expect(ratio).toBe(0);
  expect(growthPenalty(ratio, options)).toBe(0);
});

test('a tiny chunk counts as 64 tokens', () => {
  expect(growthRatio({ tokensBefore: 0, tokensAfter: 32, chunkTokens: 5 }, options)).toBe(0.5);
  expect(growthRatio({ tokensBefore: 0, tokensAfter: 32, chunkTokens: 320 }, options)).toBe(0.1);
});

test('BR-03: five restatements of one project fact are charged, one memory of it is free', () => {
  const said = [
    'The scanner lives in repo lark-scan.',
    'run: echo hi',
    "What's your name?",
    'Reminder: our scanner code is in the lark-scan repository.',
    'As I said, lark-scan holds the scanner.',
  ];
  const wordsIn = (texts: readonly string[]): number => texts.join(' ').split(' ').length * 3;
  const costOf = (memories: readonly string[]): number => {
    const growth = {
      tokensBefore: 0,
      tokensAfter: wordsIn(memories),
      chunkTokens: wordsIn(said),
    };
    return growthPenalty(growthRatio(growth, options), options);
  };
  expect(costOf(said.slice(0, 1))).toBe(0);
  expect(costOf(said)).toBe(1);
});

test('an impossible ramp is refused', () => {
  expect(() => growthPenalty(1, { ...options, fullRatio: 0.5 })).toThrow('must exceed');
  expect(() => growthPenalty(Number.NaN, options)).toThrow('not a number');
});
