/** Embeddings on their own route: not calls of the writer, cached, and loud when they fail. */
import type { IncomingMessage } from 'node:http';
import { boundary, FaultError } from '../core/outcome.ts';
import type { Clock } from '../lib/clock.ts';
import type { Embedder } from '../llm/embedder.ts';
import { type EmbeddingsRequest, embeddingsRequestSchema, errorBody } from '../llm/wire.ts';
import { readBody } from './read-request.ts';
import type { GatewaySlot } from './slot.ts';

export interface EmbeddingsRoute {
  readonly clock: Clock;
  /** Cached; its failures are attributed. */
  readonly embedder: Embedder;
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

export async function receiveEmbeddings(
  slot: GatewaySlot,
  route: EmbeddingsRoute,
  incoming: IncomingMessage,
): Promise<Reply> {
  return slot.track(reply(slot, route, incoming));
}

async function reply(
  slot: GatewaySlot,
  route: EmbeddingsRoute,
  incoming: IncomingMessage,
): Promise<Reply> {
  const startedMs = route.clock.nowMs();
  const body = await readBody(incoming, slot.signal);
  try {
    const request = await boundary('gateway', () => readEmbeddingsRequest(body, route.embedder));
    const texts = typeof request.input === 'string' ? [request.input] : request.input;
    const vectors = await route.embedder.embed(texts);
    return { status: 200, body: responseOf(request, vectors) };
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    slot.recordFault({
      purpose: slot.purpose,
      stage: 'embeddings',
      outcome: error.toFault(),
      durationMs: route.clock.nowMs() - startedMs,
    });
    return { status: 400, body: errorBody(error.message, `${error.boundary}_fault`) };
  }
}

function readEmbeddingsRequest(body: Buffer | undefined, embedder: Embedder): EmbeddingsRequest {
  if (body === undefined) throw new Error('the request body is too large');
  const request = embeddingsRequestSchema.parse(JSON.parse(body.toString('utf8')));
  const asked = request.dimensions ?? embedder.dimensions;
  if (asked !== embedder.dimensions) {
    throw new Error(`${embedder.name} has ${embedder.dimensions} dimensions, not ${asked}`);
  }
  return request;
}

function responseOf(request: EmbeddingsRequest, vectors: readonly Float32Array[]): string {
  const encode = request.encoding_format === 'base64' ? toBase64 : Array.from<number>;
  return JSON.stringify({
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: encode(vector),
    })),
    model: request.model,
    usage: { prompt_tokens: 0, total_tokens: 0 },
  });
}

/** Little-endian float32, as OpenAI's SDKs decode it. */
function toBase64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
}
