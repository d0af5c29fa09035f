/** Numbers stand up to 5 % of the windows and of the items; a lost window loses its items. */
import { expect, test } from 'vitest';
import type { EvaluatedWindow } from '../bench/evaluate.ts';
import { aFault, anArtifact, aProbe, aScoredRollout, graded } from '../testing/trace-builders.ts';
import { faultShareOf, faultShareText, isTooMuch } from './fault-share.ts';

const artifact = anArtifact(['c0'], { probes: [aProbe('p', 'c0'), aProbe('q', 'c0')] });
const userId = 'user';
const lost: EvaluatedWindow = { userId, artifact, kind: 'fault', fault: aFault('upstream') };

function scored(judged: boolean): EvaluatedWindow {
  const second = judged ? graded('q', 1) : { itemId: 'q', result: aFault('judge') };
  const rollout = aScoredRollout([1], { results: [graded('p', 1), second] });
  return { userId, artifact, kind: 'scored', rollout };
}

/** 20 windows of 2 items each. */
function windows(head: readonly EvaluatedWindow[]): EvaluatedWindow[] {
  return [...head, ...Array.from({ length: 20 - head.length }, () => scored(true))];
}

test('a lost window counts with its items, a lost item by its boundary', () => {
  const share = faultShareOf(windows([lost, scored(false)]));
  expect(share).toEqual({
    windows: { planned: 20, lost: 1 },
    items: { planned: 40, lost: 3 },
    boundaries: { upstream: 1, judge: 1 },
    first: 'HTTP 503',
  });
  expect(faultShareText('tea', share)).toBe(
    'tea: 1 of 20 windows and 3 of 40 items are faults (upstream 1, judge 1), first: HTTP 503',
  );
});

test.each([
  ['nothing lost', [], false],
  ['5 % of windows and items', [lost], false],
  ['7.5 % of items', [lost, scored(false)], true],
  ['10 % of windows', [lost, lost], true],
] as const)('%s', (_, head, tooMuch) => {
  expect(isTooMuch(faultShareOf(windows(head)))).toBe(tooMuch);
});
