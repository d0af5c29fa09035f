/** How much each segment weighs in the loss, so that a chunk written in many calls casts one vote (definitions §6). */
import type { LossMass } from './options.ts';

/** Lengths, in sampled tokens, of the segments of one (i,t). */
export type ChunkSegments = readonly number[];

/**
 * Weight of each segment's token mean, in the order given. Every mode spreads the same total, one per chunk:
 * `token` by tokens (a 3-call chunk weighs about 3×), `segment-mean` by segments, `chunk-mean` gives each (i,t) 1 and
 * divides it by tokens within the chunk, so that splitting a segment changes nothing.
 */
export function segmentWeights(chunks: readonly ChunkSegments[], mode: LossMass): number[][] {
  for (const segments of chunks) {
    if (segments.length === 0) throw new Error('loss mass: a chunk without segments');
    if (segments.some((tokens) => !(tokens > 0))) {
      throw new Error('loss mass: a segment without sampled tokens');
    }
  }
  const allTokens = sum(chunks.map(sum));
  const allSegments = sum(chunks.map(({ length }) => length));
  return chunks.map((segments) =>
    segments.map((tokens) => {
      switch (mode) {
        case 'token':
          return (tokens * chunks.length) / allTokens;
        case 'segment-mean':
          return chunks.length / allSegments;
        case 'chunk-mean':
          return tokens / sum(segments);
        default:
          throw new Error(`unknown loss mass ${mode satisfies never}`);
      }
    }),
  );
}

/** Heaviest chunk's mass over the mean chunk's: 1 when every chunk weighs the same. */
export function massSkew(weights: readonly (readonly number[])[]): number {
  if (weights.length === 0) return 1;
  const masses = weights.map(sum);
  return (Math.max(...masses) * masses.length) / sum(masses);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
