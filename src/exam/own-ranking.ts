/** The same exam over our own ranking of the listed memories, so that a writer's fault is not mistaken for a ranker's. */
import type { Listing } from '../core/bank.ts';
import { boundary } from '../core/outcome.ts';
import type { Embedder } from '../llm/embedder.ts';
import type { Retrievable } from './contract.ts';

export interface OwnRankingOptions {
  readonly embedder: Embedder;
  /** Memories in a block. */
  readonly topK: number;
}

/** The `topK` memories nearest to the question by cosine, nearest first, one a line; ties keep the listing's order. */
export function rankListing(listing: Listing, { embedder, topK }: OwnRankingOptions): Retrievable {
  const texts = listing.map(({ text }) => text);
  let embedded: Promise<readonly Float32Array[]> | undefined;
  return {
    retrieve: (question) =>
      boundary('embedder', async () => {
        if (texts.length === 0) return '';
        embedded ??= embedder.embed(texts);
        const [vectors, [target]] = await Promise.all([embedded, embedder.embed([question])]);
        if (target === undefined) throw new Error('the embedder returned no vector');
        return vectors
          .map((vector, i) => ({ text: texts[i] ?? '', score: cosine(vector, target) }))
          .sort((a, b) => b.score - a.score)
          .slice(0, topK)
          .map(({ text }) => text)
          .join('\n');
      }),
  };
}

/** 0 where a vector has no direction. */
function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) throw new Error(`vectors of ${a.length} and ${b.length} dimensions`);
  const dot = (x: Float32Array, y: Float32Array): number =>
    x.reduce((sum, value, i) => sum + value * (y[i] ?? Number.NaN), 0);
  const norm = Math.sqrt(dot(a, a) * dot(b, b));
  return norm === 0 ? 0 : dot(a, b) / norm;
}
