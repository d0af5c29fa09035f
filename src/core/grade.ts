/** From a judge's verdicts to an item's score r (definitions §4). */
import type { ExamItem, Half } from './exam.ts';

/**
 * Recall probes and questions: r = Σ w m / Σ w over the rubric, every criterion of which must have a verdict.
 * Traps: the single verdict, which is 0 or 1; a hedge is 0.
 */
export function itemScore(item: ExamItem, verdicts: Readonly<Record<string, Half>>): number {
  if (item.kind === 'trap') return trapScore(item.id, verdicts);
  let earned = 0;
  let possible = 0;
  for (const { id, weight } of item.rubric) {
    const verdict = verdicts[id];
    if (verdict === undefined) throw new Error(`item ${item.id}: no verdict on criterion ${id}`);
    earned += weight * verdict;
    possible += weight;
  }
  if (!(possible > 0)) throw new Error(`item ${item.id}: the rubric has no weight`);
  return earned / possible;
}

function trapScore(itemId: string, verdicts: Readonly<Record<string, Half>>): 0 | 1 {
  const [verdict, ...more] = Object.values(verdicts);
  if (verdict === undefined || more.length > 0) {
    throw new Error(`trap ${itemId}: expected one verdict, got ${Object.keys(verdicts).length}`);
  }
  return verdict === 1 ? 1 : 0;
}
