/** The gauges that show when credit has gone quiet or is inherited. */
import { expect, test } from 'vitest';
import type { CreditedRollout } from '../core/trace.ts';
import { aFault, aScoredRollout } from '../testing/trace-builders.ts';
import { creditGroup } from './advantages.ts';
import { correlation, creditGauges } from './gauges.ts';
import { creditPresets } from './options.ts';

function credit(table: readonly (readonly number[])[]): CreditedRollout[] {
  const group = table.map((scores_T, index) => aScoredRollout(scores_T, { index }));
  return creditGroup(group, { ...creditPresets.recommended, groupSize: table.length });
}

test('silent columns, σ and the correlation of neighbours', () => {
  const gauges = creditGauges([
    credit([
      [0, 0, 1],
      [1, 2, 1],
    ]),
    credit([[0.5], [0.5]]),
  ]);
  expect(gauges).toEqual({
    columns: 4,
    silentShare: 0.5,
    sigmas: [0.5, 1, 0, 0],
    sigmaMean: 0.375,
    inheritedError: 1,
  });
});

test('the last chunk of one group is no neighbour of the next group’s first', () => {
  expect(creditGauges([credit([[0], [1]]), credit([[1], [0]])]).inheritedError).toBeUndefined();
});

test('nothing valid: nothing is claimed', () => {
  const fault = { ...aScoredRollout([]), outcome: aFault(), advantages_T: [] };
  expect(creditGauges([[fault]])).toMatchObject({ columns: 0, silentShare: undefined });
});

test('correlation is undefined where a side does not vary', () => {
  expect(correlation([1, 1], [0, 1])).toBeUndefined();
  expect(correlation([0, 1, 2], [2, 1, 0])).toBeCloseTo(-1, 12);
});
