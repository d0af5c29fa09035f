/** Search as the frameworks do it: by cosine of the embedder that training gives them. */
import { createHashEmbedder } from '../../src/llm/hash-embedder.ts';

const embedder = createHashEmbedder();
const CACHED = 5_000;
const cache = new Map<string, Float32Array>();

export interface Found {
  /** Position in the list that was searched. */
  readonly index: number;
  readonly cosine: number;
}

/** Of the texts those nearest to the query, nearest first. */
export async function nearest(
  query: string,
  texts: readonly string[],
  { limit, atLeast = -1 }: { readonly limit: number; readonly atLeast?: number },
): Promise<Found[]> {
  if (texts.length === 0) return [];
  const [target, ...vectors] = await vectorsOf([query, ...texts]);
  if (target === undefined) throw new Error('the embedder returned no vector');
  return vectors
    .map((vector, index) => ({ index, cosine: dot(vector, target) }))
    .filter(({ cosine }) => cosine >= atLeast)
    .sort((a, b) => b.cosine - a.cosine)
    .slice(0, limit);
}

async function vectorsOf(texts: readonly string[]): Promise<Float32Array[]> {
  if (cache.size > CACHED) cache.clear();
  const fresh = [...new Set(texts)].filter((text) => !cache.has(text));
  const vectors = await embedder.embed(fresh);
  for (const [i, text] of fresh.entries()) cache.set(text, vectors[i] as Float32Array);
  return texts.map((text) => cache.get(text) as Float32Array);
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? Number.NaN), 0);
}
