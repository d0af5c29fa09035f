/** Item scores: the weighted rubric, and traps that know no half marks. */
import { expect, test } from 'vitest';
import { aProbe } from '../testing/trace-builders.ts';
import type { RecallProbe } from './exam.ts';
import { itemScore } from './grade.ts';

const probe: RecallProbe = {
  ...(aProbe('p', 'c') as RecallProbe),
  rubric: [
    { id: 'a', text: 'a', weight: 3 },
    { id: 'b', text: 'b', weight: 1 },
  ],
};

test('r is the weighted mean of the verdicts', () => {
  expect(itemScore(probe, { a: 1, b: 0 })).toBe(0.75);
  expect(itemScore(probe, { a: 0.5, b: 1 })).toBe(0.625);
  expect(itemScore(probe, { a: 0, b: 0 })).toBe(0);
});

test('a criterion without a verdict is a bug, not a zero', () => {
  expect(() => itemScore(probe, { a: 1 })).toThrow('no verdict on criterion b');
});

test('a trap is 0 or 1 and a hedge is 0', () => {
  const trap = aProbe('t', 'c', 'trap');
  expect(itemScore(trap, { k: 1 })).toBe(1);
  expect(itemScore(trap, { k: 0.5 })).toBe(0);
  expect(itemScore(trap, { k: 0 })).toBe(0);
  expect(() => itemScore(trap, {})).toThrow('expected one verdict');
});
