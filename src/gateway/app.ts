/** The routes. Bodies are read from and written to the sockets directly: they are large and need no copies. */
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { errorBody } from '../llm/wire.ts';
import { type ChatRoute, receiveChat } from './chat.ts';
import type { Doors, Refused } from './doors.ts';
import { type EmbeddingsRoute, receiveEmbeddings } from './embeddings.ts';
import { JSON_TYPE } from './emit.ts';

export function createApp(
  doors: Doors,
  chat: ChatRoute,
  embeddings: EmbeddingsRoute,
): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get('/healthz', () => json(200, JSON.stringify({ status: 'ok', slots: doors.slots.length })));
  app.post('/s/:slot/v1/chat/completions', async (c) => {
    const admission = doors.admit(c.req.param('slot'), c.env.incoming);
    if (admission.kind === 'refused') return refusal(admission);
    const received = await receiveChat(admission.slot, chat, c.env);
    switch (received) {
      case 'answering':
        return RESPONSE_ALREADY_SENT;
      case 'too-large':
        return json(413, errorBody('the request body is too large', 'body_too_large'));
      case 'closed':
        return refusal(doors.refuse('closed-slot', c.env.incoming));
      default:
        return received satisfies never;
    }
  });
  app.post('/s/:slot/v1/embeddings', async (c) => {
    const admission = doors.admit(c.req.param('slot'), c.env.incoming);
    if (admission.kind === 'refused') return refusal(admission);
    const { status, body } = await receiveEmbeddings(admission.slot, embeddings, c.env.incoming);
    return json(status, body);
  });
  app.get('/s/:slot/v1/models', (c) => {
    const admission = doors.admit(c.req.param('slot'), c.env.incoming);
    if (admission.kind === 'refused') return refusal(admission);
    const { model, embeddings: vectors } = admission.slot;
    const data = [model.model, vectors.model].map((id) => ({
      id,
      object: 'model',
      created: 0,
      owned_by: 'memwriter',
    }));
    return json(200, JSON.stringify({ object: 'list', data }));
  });
  app.notFound((c) => refusal(doors.refuse('unknown-route', c.env.incoming)));
  // A bug of ours, or a client that left in mid-request: no call was recorded, so the write will miss its stage.
  app.onError((error) => json(500, errorBody(error.message, 'gateway_error')));
  return app;
}

function json(status: number, body: string): Response {
  return new Response(body, { status, headers: { 'content-type': JSON_TYPE } });
}

function refusal({ status, reason }: Refused): Response {
  return json(status, errorBody(`refused: ${reason}`, reason.replaceAll('-', '_')));
}
