/** What a difference between two writers may be called: different, tied, or undecided (definitions §9). */
import type { Estimate } from './bootstrap.ts';

type Interval = Extract<Estimate, { kind: 'interval' }>;

/** Two-sided bootstrap p-value of a mean difference of 0, never 0 itself: (1 + count) / (1 + resamples), doubled. */
export function pValue({ resampled }: Interval): number {
  return Math.min(1, 2 * Math.min(shareBelow(resampled, 0), shareAbove(resampled, 0)));
}

/** Two one-sided tests: the p-value that the difference lies within ±margin, in the unit of the difference. */
export function equivalencePValue({ resampled }: Interval, margin: number): number {
  if (!(margin > 0)) throw new Error(`equivalence margin must be positive, not ${margin}`);
  return Math.max(shareBelow(resampled, -margin), shareAbove(resampled, margin));
}

/** Holm's step-down adjustment over cells; in the order given. */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((p, cell) => ({ p, cell })).sort((a, b) => a.p - b.p);
  const adjusted = pValues.map(() => Number.NaN);
  let largest = 0;
  for (const [rank, { p, cell }] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (pValues.length - rank) * p));
    adjusted[cell] = largest;
  }
  return adjusted;
}

/** z for two-sided α = 0.05 plus z for power 0.8. */
const DETECTABLE_Z = 1.959964 + 0.841621;

/** The smallest true difference that this design finds with power 0.8 at α = 0.05. */
export function minimumDetectableEffect({ standardError }: Interval): number {
  return DETECTABLE_Z * standardError;
}

export type Verdict = 'higher' | 'lower' | 'tie' | 'undecided';

/** `margin` is 0.5 for scores in points; `pAdjusted` is Holm's, over all cells of the table. */
export function verdictOf(difference: Interval, pAdjusted: number, margin: number): Verdict {
  if (pAdjusted < 0.05) return difference.mean > 0 ? 'higher' : 'lower';
  return equivalencePValue(difference, margin) < 0.05 ? 'tie' : 'undecided';
}

function shareBelow(values: Float64Array, bound: number): number {
  let count = 1;
  for (const value of values) if (value <= bound) count += 1;
  return count / (1 + values.length);
}

function shareAbove(values: Float64Array, bound: number): number {
  let count = 1;
  for (const value of values) if (value >= bound) count += 1;
  return count / (1 + values.length);
}
