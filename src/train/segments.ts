/** The segments of a step's writes: every model call on its own, positions from 0, nothing glued together. */
import type { Rollout, Segment } from '../core/trace.ts';

/** Throws where a sampled write call has no segment: a missing chunk-to-segment map must not pass. */
export function trainedSegments(rollouts: readonly Rollout[]): Segment[] {
  const writes = rollouts.flatMap(({ outcome, writes_T }) =>
    outcome.kind === 'ok' ? writes_T : [],
  );
  return writes.flatMap(({ chunkId, calls }) => {
    const written = calls.filter(({ purpose }) => purpose === 'write');
    if (written.length === 0) {
      throw new Error(`missing chunk-to-segment map: chunk ${chunkId} has no write call`);
    }
    const sampled = written.filter(({ stopReason }) => stopReason !== 'overflow');
    return sampled.map(({ id, segment }) => {
      if (segment === undefined || segment.sampledIds.length === 0) {
        throw new Error(`missing chunk-to-segment map: chunk ${chunkId}, call ${id} has no tokens`);
      }
      return segment;
    });
  });
}
