/** The chunk-to-segment map: every sampled call of a write is a segment of its chunk, and none may be missing. */
import type { Call, ChunkWrite, Rollout, Segment } from '../core/trace.ts';

/** Throws where a write that was sampled lacks a segment: silent failure 3. `where` names its rollout. */
export function segmentsOf({ chunkId, calls }: ChunkWrite, where: string): Segment[] {
  const missing = (detail: string): Error =>
    new Error(`missing chunk-to-segment map: ${where}, chunk ${chunkId}: ${detail}`);
  const written = calls.filter(({ purpose }) => purpose === 'write');
  if (written.length === 0) throw missing('no write call is recorded');
  return written.filter(wasSampled).map(({ id, stage, segment }) => {
    if (segment === undefined) throw missing(`call ${id} (${stage}) has none`);
    const { sampledIds, logprobs } = segment;
    if (sampledIds.length === 0 || logprobs.length !== sampledIds.length) {
      throw missing(
        `call ${id} has ${sampledIds.length} tokens and ${logprobs.length} log-probabilities`,
      );
    }
    return segment;
  });
}

/** An overflow sampled nothing; a platform fault's tokens are not the policy's action. */
function wasSampled({ stopReason, outcome }: Call): boolean {
  return stopReason !== 'overflow' && outcome.kind !== 'fault';
}

/** The segments of all valid rollouts, for a loss that asks for no credit. */
export function trainedSegments(rollouts: readonly Rollout[]): Segment[] {
  return rollouts.flatMap((rollout) => {
    if (rollout.outcome.kind === 'fault') return [];
    const where = `rollout ${rollout.index} of window ${rollout.windowId}`;
    return rollout.writes_T.flatMap((write) => segmentsOf(write, where));
  });
}
