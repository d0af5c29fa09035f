/** Tables name what they compare. */
import { expect, test } from 'vitest';
import { differencesTable } from './tables.ts';

test('a difference names its two writers, whatever hyphens they hold', () => {
  const table = differencesTable({
    differences: { 'gpt-4-my-writer': { mean: 0.5, low: 0.25, high: 0.75 } },
    pairs: [['gpt-4', 'my-writer']],
  });
  expect(table).toMatch(/│ gpt-4 − my-writer +│ +\+0\.500 │ 0\.250 to 0\.750 │ better │/);
});
