/** May a step's rollouts train the policy? Nothing planned is missing, and the platform lost too little to matter. */
import type { Rollout, ScoredRollout } from '../core/trace.ts';
import type { StepRecord } from '../store/schema.ts';
import type { FaultOptions } from './options.ts';
import type { PlannedRow } from './schedule.ts';

export type Admission =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'aborted'; readonly reason: string };

/** Silent failure 4: what was planned and left no record stops the run by name. */
export function assertAllPresent(
  plan: readonly PlannedRow[],
  rollouts: readonly Rollout[],
  groupSize: number,
): void {
  for (const { configuration, sequence, artifact } of plan) {
    const windowId = artifact.window.id;
    const found = rollouts.filter(
      (rollout) =>
        rollout.configuration === configuration &&
        rollout.sequence === sequence &&
        rollout.windowId === windowId,
    ).length;
    if (found !== groupSize) {
      throw new Error(
        `configuration "${configuration}" was planned for window ${windowId} of ${sequence} with ${groupSize} rollouts and left ${found} records`,
      );
    }
  }
  if (rollouts.length !== plan.length * groupSize) {
    throw new Error(
      `${rollouts.length} rollouts are on record, ${plan.length * groupSize} planned`,
    );
  }
}

/** > 5 % item faults or > 10 % rollout faults: the step is aborted without an update. */
export function admitStep(
  rollouts: readonly (Rollout | ScoredRollout)[],
  { maxItemShare, maxRolloutShare }: FaultOptions,
): Admission {
  const faulted = rollouts.filter(({ outcome }) => outcome.kind === 'fault');
  const results = rollouts.flatMap((rollout) =>
    rollout.outcome.kind === 'ok' && 'results' in rollout ? rollout.results : [],
  );
  const lost = results.filter(({ result }) => result.kind === 'fault');
  const [first] = faulted;
  if (faulted.length > maxRolloutShare * rollouts.length) {
    const why = first?.outcome.kind === 'fault' ? `: ${first.outcome.message}` : '';
    return aborted(`${faulted.length} of ${rollouts.length} rollouts are platform faults${why}`);
  }
  if (lost.length > maxItemShare * results.length) {
    return aborted(`${lost.length} of ${results.length} exam items are faults`);
  }
  return { kind: 'admitted' };
}

/** Faults by boundary, as the step's line counts them. */
export function countFaults(rollouts: readonly ScoredRollout[]): StepRecord['faults'] {
  const counts: StepRecord['faults'] = { rollouts: {}, items: {} };
  for (const { outcome, results } of rollouts) {
    if (outcome.kind === 'fault') count(counts.rollouts, outcome.boundary);
    for (const { result } of results) {
      if (result.kind === 'fault') count(counts.items, result.boundary);
    }
  }
  return counts;
}

function count(counts: Record<string, number>, boundary: string): void {
  const before = counts[boundary];
  counts[boundary] = before === undefined ? 1 : before + 1;
}

function aborted(reason: string): Admission {
  return { kind: 'aborted', reason };
}
