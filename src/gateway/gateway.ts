/** Opens the gateway on a loopback port and hands out slots. */
import type { Server } from 'node:http';
import { createAdaptorServer, type ServerType } from '@hono/node-server';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createRng, type Rng } from '../lib/rng.ts';
import { type PriceTable, priceOf } from '../llm/cost.ts';
import type { Embedder } from '../llm/embedder.ts';
import { createHttpClient, type HttpClient, type RetryOptions } from '../llm/http.ts';
import type { Answerer } from './answer.ts';
import { createApp } from './app.ts';
import { cachedEmbedder } from './cached-embedder.ts';
import type { Gateway, Slot, SlotOptions, Writer } from './contract.ts';
import { Doors, unguessable } from './doors.ts';
import { relayAnswerer } from './relay.ts';
import { renderAnswerer } from './render.ts';
import { scriptedAnswerer } from './scripted.ts';
import { GatewaySlot } from './slot.ts';

export interface GatewayOptions {
  readonly embedder: Embedder;
  /** 0, the default, lets the system choose. */
  readonly port?: number;
  readonly clock?: Clock;
  /** Of a relay's retry waits. */
  readonly rng?: Rng;
  readonly retry?: RetryOptions;
  /** By model name of the relay's endpoint; a call of a model without one has no cost. */
  readonly prices?: PriceTable;
}

/** The name frameworks are told. It must not look like a model that an SDK treats in a special way. */
const MODEL_NAME = 'memwriter';
const HOST = '127.0.0.1';

export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const clock = options.clock ?? systemClock;
  const http = createHttpClient({
    clock,
    rng: options.rng ?? createRng('gateway'),
    ...(options.retry === undefined ? {} : { retry: options.retry }),
  });
  const doors = new Doors();
  const answerers = new WeakMap<GatewaySlot, Answerer>();
  const answererOf = (slot: GatewaySlot): Answerer => {
    const answerer = answerers.get(slot);
    if (answerer === undefined) throw new Error('the slot is not of this gateway');
    return answerer;
  };
  const app = createApp(
    doors,
    { clock, answererOf },
    { clock, embedder: cachedEmbedder(options.embedder) },
  );
  const server = createAdaptorServer({
    fetch: app.fetch,
    hostname: HOST,
    overrideGlobalObjects: false,
    // Clients close idle connections before we do, so none is reused while it is closing.
    serverOptions: { keepAliveTimeout: 120_000 },
  });
  const baseUrl = `http://${HOST}:${await listen(server, options.port ?? 0)}`;

  const openSlot = (slotOptions: SlotOptions): Slot => {
    const id = unguessable('');
    const key = unguessable('mw-');
    const endpoint = { baseUrl: `${baseUrl}/s/${id}/v1`, apiKey: key };
    const { name, dimensions } = options.embedder;
    const identity = {
      id,
      key,
      model: { ...endpoint, model: MODEL_NAME },
      embeddings: { ...endpoint, model: name, dimensions },
    };
    const slot = new GatewaySlot(identity, slotOptions, () => doors.close(id));
    answerers.set(slot, answererFor(slotOptions.writer, http, options.prices ?? {}));
    doors.add(id, key, slot);
    return slot;
  };

  return {
    baseUrl,
    get refusals() {
      return doors.refusals;
    },
    openSlot,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(doors.slots.map((slot) => slot[Symbol.asyncDispose]()));
      await close(server);
      await http[Symbol.asyncDispose]();
    },
  };
}

function answererFor(writer: Writer, http: HttpClient, prices: PriceTable): Answerer {
  switch (writer.kind) {
    case 'render':
      return renderAnswerer(writer);
    case 'scripted':
      return scriptedAnswerer(writer);
    case 'relay':
      return relayAnswerer(writer, { http, price: priceOf(prices, writer.endpoint.model) });
    default:
      return writer satisfies never;
  }
}

function listen(server: ServerType, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('no port'));
      else resolve(address.port);
    });
  });
}

async function close(server: ServerType): Promise<void> {
  const closed = new Promise<void>((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
  });
  if ('closeAllConnections' in server) (server satisfies Server).closeAllConnections();
  await closed;
}
