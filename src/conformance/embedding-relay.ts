/** The way of a framework's embedding calls to the gateway, on a real socket, where a check can make them fail. */
import type { OpenOptions } from '../harness/contract.ts';
import { startScriptedUpstream, type UpstreamReply } from '../testing/scripted-upstream.ts';

type EmbeddingsEndpoint = OpenOptions['embeddings'];

export interface EmbeddingFailure {
  readonly reply: UpstreamReply;
  /** The first request that meets it, from 1; all later ones do too, a framework's retries among them. */
  readonly from: number;
}

export interface EmbeddingRelay extends AsyncDisposable {
  /** The endpoint that a framework is given in place of this one. */
  before(target: EmbeddingsEndpoint): EmbeddingsEndpoint;
  /** From now on; counts anew. */
  fail(failure?: EmbeddingFailure): void;
  /** Since `fail`. */
  readonly requests: number;
}

export async function startEmbeddingRelay(): Promise<EmbeddingRelay> {
  let target: EmbeddingsEndpoint | undefined;
  let failure: EmbeddingFailure | undefined;
  let requests = 0;
  const upstream = await startScriptedUpstream(async ({ authorization, body }) => {
    requests += 1;
    if (failure !== undefined && requests >= failure.from) return failure.reply;
    if (target === undefined) throw new Error('the relay leads nowhere yet');
    return await forward(target, authorization, body);
  });
  return {
    before: (endpoint) => {
      target = endpoint;
      return { ...endpoint, baseUrl: upstream.endpoint.baseUrl };
    },
    fail: (next) => {
      failure = next;
      requests = 0;
    },
    get requests() {
      return requests;
    },
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}

async function forward(
  { baseUrl }: EmbeddingsEndpoint,
  authorization: string,
  body: unknown,
): Promise<UpstreamReply> {
  const response = await fetch(`${baseUrl}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.ok) return { kind: 'raw', body: text };
  return { kind: 'status', status: response.status, error: { message: text } };
}
