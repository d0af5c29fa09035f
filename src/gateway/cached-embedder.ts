/** Vectors of texts seen before, shared by all slots; one text in flight is embedded once. */
import { boundary } from '../core/outcome.ts';
import type { Embedder } from '../llm/embedder.ts';

/** Vectors, not bytes: at 256 dimensions a kilobyte each. */
const CAPACITY = 65_536;

/** Failures are attributed to boundary `embedder`, reach everyone who waits, and are not kept. */
export function cachedEmbedder(embedder: Embedder, capacity = CAPACITY): Embedder {
  const { name, dimensions } = embedder;
  const cache = new Map<string, Promise<Float32Array>>();

  const remember = (text: string, vector: Promise<Float32Array>): void => {
    cache.set(text, vector);
    vector.catch(() => {
      if (cache.get(text) === vector) cache.delete(text);
    });
    const [oldest] = cache.keys();
    if (cache.size > capacity && oldest !== undefined) cache.delete(oldest);
  };

  const embed = async (texts: readonly string[]): Promise<Float32Array[]> => {
    const wanted = texts.map((text) => cache.get(text));
    const missing = [...new Set(texts.filter((_, i) => wanted[i] === undefined))];
    const batch = missing.length === 0 ? undefined : embedChecked(embedder, missing);
    const fresh = new Map(missing.map((text, i) => [text, batch?.then((all) => at(all, i))]));
    for (const [text, vector] of fresh) if (vector !== undefined) remember(text, vector);
    return Promise.all(texts.map((text, i) => found(wanted[i] ?? fresh.get(text))));
  };
  return { name, dimensions, embed };
}

async function embedChecked(
  embedder: Embedder,
  texts: readonly string[],
): Promise<readonly Float32Array[]> {
  return boundary('embedder', async () => {
    const vectors = await embedder.embed(texts);
    const whole = vectors.every((vector) => vector.length === embedder.dimensions);
    if (vectors.length === texts.length && whole) return vectors;
    throw new Error(
      `${embedder.name} answered ${vectors.length} vectors for ${texts.length} texts`,
    );
  });
}

function at(vectors: readonly Float32Array[], index: number): Float32Array {
  return found(vectors[index]);
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a vector went missing in the cache');
  return value;
}
