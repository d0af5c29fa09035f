/** A real HTTP server that plays an OpenAI-compatible provider from a script: answers, delays, cuts, errors, streams. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Endpoint } from '../core/chat.ts';

interface ScriptedUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export type UpstreamReply = {
  /** Before the first byte. */
  readonly delayMs?: number;
} & (
  | {
      /** A chat completion, as events where the request asks for a stream. */
      readonly kind: 'text';
      readonly text: string;
      readonly finishReason?: string;
      readonly usage?: ScriptedUsage;
      /** Streams only: break the connection after this many of the text's pieces. */
      readonly cutAfterPieces?: number;
    }
  | { readonly kind: 'embeddings'; readonly vectors: readonly (readonly number[])[] }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly error?: { readonly message: string; readonly code?: string };
    }
  /** Anything with status 200: malformed JSON, an HTML page, an error in disguise. */
  | { readonly kind: 'raw'; readonly body: string; readonly contentType?: string }
  /** The connection is reset before any answer. */
  | { readonly kind: 'cut' }
  /** Accepts the request and never answers. */
  | { readonly kind: 'hang' }
);

interface SeenRequest {
  readonly path: string;
  readonly authorization: string;
  readonly body: unknown;
}

/** A list is used up in order; what comes after it gets HTTP 400 `script exhausted`. */
export type UpstreamScript =
  | readonly UpstreamReply[]
  | ((request: SeenRequest, index: number) => UpstreamReply | Promise<UpstreamReply>);

export interface ScriptedUpstream extends AsyncDisposable {
  readonly endpoint: Endpoint;
  readonly requests: readonly SeenRequest[];
}

export async function startScriptedUpstream(script: UpstreamScript): Promise<ScriptedUpstream> {
  const requests: SeenRequest[] = [];
  const exhausted: UpstreamReply = {
    kind: 'status',
    status: 400,
    error: { message: 'script exhausted' },
  };
  const next = async (request: SeenRequest, index: number): Promise<UpstreamReply> =>
    typeof script === 'function' ? script(request, index) : (script[index] ?? exhausted);
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming);
    const index = requests.push(request) - 1;
    const reply = await next(request, index);
    if (reply.delayMs !== undefined) await wait(reply.delayMs);
    play(reply, request, outgoing);
  };
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch((error: unknown) => {
      outgoing.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    endpoint: {
      baseUrl: `http://127.0.0.1:${address.port}/v1`,
      apiKey: 'upstream-key',
      model: 'upstream-model',
    },
    requests,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<SeenRequest> {
  let text = '';
  incoming.setEncoding('utf8');
  for await (const part of incoming) text += String(part);
  const { url = '', headers } = incoming;
  return { path: url, authorization: headers.authorization ?? '', body: JSON.parse(text) };
}

function play(reply: UpstreamReply, request: SeenRequest, outgoing: ServerResponse): void {
  switch (reply.kind) {
    case 'text':
      if (asksForStream(request)) streamText(reply, outgoing);
      else send(outgoing, 200, completionOf(reply));
      return;
    case 'embeddings':
      send(outgoing, 200, {
        object: 'list',
        data: reply.vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
        usage: { prompt_tokens: 1, total_tokens: 1 },
      });
      return;
    case 'status':
      for (const [name, value] of Object.entries(reply.headers ?? {}))
        outgoing.setHeader(name, value);
      send(outgoing, reply.status, { error: reply.error ?? { message: `status ${reply.status}` } });
      return;
    case 'raw':
      outgoing.writeHead(200, { 'content-type': reply.contentType ?? 'application/json' });
      outgoing.end(reply.body);
      return;
    case 'cut':
      outgoing.destroy();
      return;
    case 'hang':
      return;
    default:
      reply satisfies never;
  }
}

function asksForStream({ body }: SeenRequest): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true;
}

type TextReply = Extract<UpstreamReply, { kind: 'text' }>;

function completionOf(reply: TextReply): object {
  return {
    id: 'chatcmpl-upstream',
    object: 'chat.completion',
    created: 1,
    model: 'upstream-model',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: reply.text },
        finish_reason: reply.finishReason ?? 'stop',
      },
    ],
    ...usagePart(reply),
  };
}

function usagePart({ usage }: TextReply): object {
  if (usage === undefined) return {};
  const { promptTokens, completionTokens } = usage;
  const total = promptTokens + completionTokens;
  return {
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: total,
    },
  };
}

/** Pieces of three UTF-16 units, so that surrogate pairs do get cut, as they are by real providers' tokens. */
function streamText(reply: TextReply, outgoing: ServerResponse): void {
  const event = (delta: object, finish: string | null, more: object = {}): string =>
    `data: ${JSON.stringify({
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    })}\n\n`;
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
  const pieces = reply.text.match(/.{1,3}/gs) ?? [];
  const kept = pieces.slice(0, reply.cutAfterPieces ?? pieces.length);
  for (const content of kept) outgoing.write(event({ content }, null));
  if (reply.cutAfterPieces !== undefined) {
    outgoing.write('', () => outgoing.destroy());
    return;
  }
  outgoing.write(event({}, reply.finishReason ?? 'stop'));
  if (reply.usage !== undefined) {
    outgoing.write(`data: ${JSON.stringify({ choices: [], ...usagePart(reply) })}\n\n`);
  }
  outgoing.end('data: [DONE]\n\n');
}

function send(outgoing: ServerResponse, status: number, body: object): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify(body));
}
