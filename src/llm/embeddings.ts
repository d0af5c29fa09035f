/** An embedder at an OpenAI-compatible endpoint. */
import type { Endpoint } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import type { Embedder } from './embedder.ts';
import type { HttpClient } from './http.ts';
import { embeddingsResponseSchema } from './wire.ts';

export interface EndpointEmbedderOptions {
  readonly http: HttpClient;
  readonly endpoint: Endpoint;
  readonly dimensions: number;
  readonly timeoutMs: number;
  /** Ask for `dimensions` explicitly; only some models allow it. */
  readonly sendDimensions?: boolean;
}

/** Failures are faults of boundary `embedder`. */
export function createEndpointEmbedder(options: EndpointEmbedderOptions): Embedder {
  const { http, endpoint, dimensions, timeoutMs } = options;
  const embed = async (texts: readonly string[]): Promise<Float32Array[]> => {
    if (texts.length === 0) return [];
    const { value } = await http.post(
      {
        url: `${endpoint.baseUrl}/embeddings`,
        apiKey: endpoint.apiKey,
        body: JSON.stringify({
          model: endpoint.model,
          input: texts,
          encoding_format: 'float',
          dimensions: options.sendDimensions === true ? dimensions : undefined,
        }),
        timeoutMs,
        boundary: 'embedder',
      },
      (bytes) => embeddingsResponseSchema.parse(JSON.parse(bytes.toString('utf8'))),
    );
    const byIndex = new Map(value.data.map(({ index, embedding }) => [index, toVector(embedding)]));
    return texts.map((_, index) => checked(byIndex.get(index), options, index));
  };
  return { name: endpoint.model, dimensions, embed };
}

function checked(
  vector: Float32Array | undefined,
  { endpoint, dimensions }: EndpointEmbedderOptions,
  index: number,
): Float32Array {
  if (vector?.length === dimensions && vector.every(Number.isFinite)) return vector;
  const found = vector === undefined ? 'no vector' : `${vector.length} numbers`;
  const message = `${endpoint.model}: ${found} for text ${index}, ${dimensions} finite ones expected`;
  throw new FaultError('embedder', message);
}

function toVector(embedding: readonly number[] | string): Float32Array {
  if (typeof embedding !== 'string') return Float32Array.from(embedding);
  const bytes = Buffer.from(embedding, 'base64');
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) =>
    bytes.readFloatLE(i * 4),
  );
}
