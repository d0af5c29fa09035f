/** Item faults are a matter of the group: all its rollouts sit the same exam (definitions §5). */
import type { ItemResult } from '../core/exam.ts';
import type { Fault } from '../core/outcome.ts';

export interface GroupExam {
  /** Items that no rollout is scored on, because one valid rollout has no grade for them. */
  readonly removed: ReadonlySet<string>;
  /** The rollout that held most of the window's item faults, and the fault it now is. */
  readonly faulted?: { readonly index: number; readonly fault: Fault };
}

/**
 * `results_G` holds one list a valid rollout. An item that faulted in any of them is removed for all of them, unless
 * one rollout holds more than `faultShare` of the faults: then that rollout is the fault and the items return.
 * Telling one rollout apart takes siblings, so a lone rollout only loses its items.
 */
export function settleItemFaults(
  results_G: readonly (readonly ItemResult[])[],
  faultShare: number,
): GroupExam {
  const faults_G = results_G.map((results) => results.filter(isFault));
  const total = faults_G.reduce((sum, faults) => sum + faults.length, 0);
  const culprit =
    results_G.length < 2 ? -1 : faults_G.findIndex((faults) => faults.length > faultShare * total);
  const removed = new Set(
    faults_G.flatMap((faults, i) => (i === culprit ? [] : faults.map(({ itemId }) => itemId))),
  );
  const first = faults_G[culprit]?.[0];
  if (first === undefined) return { removed };
  const count = faults_G[culprit]?.length;
  return {
    removed,
    faulted: {
      index: culprit,
      fault: {
        kind: 'fault',
        boundary: first.result.boundary,
        message: `${count} of the window's ${total} item faults: ${first.result.message}`,
      },
    },
  };
}

type FaultedItem = ItemResult & { readonly result: Fault };

function isFault(result: ItemResult): result is FaultedItem {
  return result.result.kind === 'fault';
}
