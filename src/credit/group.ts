/** The group key (window, configuration, sequence): who is compared with whom (definitions §6). */
import type { Rollout } from '../core/trace.ts';

/** With the chunk position this is g; nothing of one rollout alone (an id, its index) may be part of it. */
export function groupKey({ windowId, configuration, sequence }: Rollout): string {
  return JSON.stringify([windowId, configuration, sequence]);
}

/** Throws unless these are the G rollouts of one group, all started from the same parent bank. */
export function assertGroup(rollouts: readonly Rollout[], groupSize: number): void {
  const [first] = rollouts;
  if (first === undefined) throw new Error('credit: a group without rollouts');
  const key = groupKey(first);
  if (rollouts.length !== groupSize) {
    throw new Error(`credit: group ${key} has ${rollouts.length} rollouts, expected ${groupSize}`);
  }
  for (const rollout of rollouts) {
    if (groupKey(rollout) !== key) {
      throw new Error(`credit: rollout of ${groupKey(rollout)} in group ${key}`);
    }
    if (rollout.parentHash !== first.parentHash) {
      throw new Error(
        `credit: group ${key} started from two parent banks, ${first.parentHash} and ${rollout.parentHash}`,
      );
    }
  }
  if (new Set(rollouts.map(({ index }) => index)).size !== rollouts.length) {
    throw new Error(`credit: group ${key} has two rollouts of one index`);
  }
}
