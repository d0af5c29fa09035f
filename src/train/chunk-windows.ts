/** Stage 1's rows: each chunk is a window of its own, in the order of its user's stream. */
import type { WindowArtifact } from '../core/exam.ts';

export function toChunkWindows(artifacts: readonly WindowArtifact[]): WindowArtifact[] {
  const counts = new Map<string, number>();
  return artifacts
    .toSorted((a, b) => a.window.index - b.window.index)
    .flatMap(({ window: { userId, chunks } }) =>
      chunks.map((chunk) => {
        const before = counts.get(userId);
        const index = before === undefined ? 0 : before + 1;
        counts.set(userId, index);
        const window = { id: chunk.id, userId, index, chunks: [chunk] };
        return { window, probes: [], questions: [] };
      }),
    );
}
