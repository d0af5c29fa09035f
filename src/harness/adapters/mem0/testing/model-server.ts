/** A model endpoint for tests: chat answers by script, embeddings by counting words, every request on record. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type ChatMessage, chatMessageSchema } from '../../../../core/chat.ts';
import type { OpenOptions } from '../../../contract.ts';

export type ScriptedReply =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'status'; readonly status: number }
  /** The connection breaks before the answer, or in the middle of a body whose length was announced, or was not. */
  | { readonly kind: 'cut'; readonly after: 'nothing' | 'chunk' | 'announced-length' }
  | { readonly kind: 'hang' };

export interface ModelServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly chats: ChatMessage[][];
  readonly embedded: string[][];
  /** Decides each chat answer. */
  answer: (messages: readonly ChatMessage[], apiKey: string) => ScriptedReply;
  /** Decides each embedding request; undefined answers it with vectors. */
  refuseEmbedding: (inputs: readonly string[]) => ScriptedReply | undefined;
  /** What a bank needs to be opened against this server. */
  open(dir: string, apiKey?: string): OpenOptions;
}

const DIMENSIONS = 64;
const bodySchema = z.object({
  messages: z.array(chatMessageSchema).default([]),
  input: z.union([z.string(), z.array(z.string())]).default([]),
});

export async function startModelServer(): Promise<ModelServer> {
  const server = createServer((request, response) => {
    respond(model, request, response).catch((cause) => response.destroy(cause));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const baseUrl = `http://127.0.0.1:${address.port}/v1`;
  const model: ModelServer = {
    baseUrl,
    chats: [],
    embedded: [],
    answer: () => ({ kind: 'text', text: '{"memory":[]}' }),
    refuseEmbedding: () => undefined,
    open: (dir, apiKey = 'key') => ({
      dir,
      model: { baseUrl, apiKey, model: 'writer' },
      embeddings: { baseUrl, apiKey, model: 'words', dimensions: DIMENSIONS },
      now: '2024-01-01T00:00:00Z',
    }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return model;
}

async function respond(
  server: ModelServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = bodySchema.parse(JSON.parse(await text(request)));
  if (request.url?.endsWith('/embeddings')) {
    const inputs = typeof body.input === 'string' ? [body.input] : body.input;
    server.embedded.push(inputs);
    const refusal = server.refuseEmbedding(inputs);
    if (refusal !== undefined) return play(refusal, response);
    const data = inputs.map((input, index) => ({
      object: 'embedding',
      index,
      embedding: embed(input),
    }));
    return send(response, { object: 'list', data, model: 'words', usage: {} });
  }
  server.chats.push(body.messages);
  const apiKey = request.headers.authorization?.replace('Bearer ', '') ?? '';
  play(server.answer(body.messages, apiKey), response);
}

function play(reply: ScriptedReply, response: ServerResponse): void {
  switch (reply.kind) {
    case 'text': {
      const message = { role: 'assistant', content: reply.text };
      const choices = [{ index: 0, finish_reason: 'stop', message }];
      send(response, { id: '1', object: 'chat.completion', model: 'writer', choices });
      return;
    }
    case 'status':
      response.statusCode = reply.status;
      send(response, { error: { message: `status ${reply.status}` } });
      return;
    case 'cut':
      cut(reply.after, response);
      return;
    case 'hang':
      return;
    default:
      reply satisfies never;
  }
}

function cut(after: 'nothing' | 'chunk' | 'announced-length', response: ServerResponse): void {
  if (after === 'announced-length') response.setHeader('content-length', '1000');
  if (after !== 'nothing') response.write('{"id":');
  setTimeout(() => response.destroy(), after === 'nothing' ? 0 : 20);
}

function send(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

/** Words hashed into a bag: texts that share words are near. */
function embed(input: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0.001);
  for (const word of input.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    let hash = 0;
    for (const character of word) hash = (hash * 31 + character.charCodeAt(0)) >>> 0;
    vector[hash % DIMENSIONS] = (vector[hash % DIMENSIONS] ?? 0) + 1;
  }
  return vector;
}
