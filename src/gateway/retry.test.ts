/** A provider SDK's own retry of one logical call joins or replays the recorded answer; it never samples twice. */
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as wait } from 'node:timers/promises';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { Gateway, Slot } from './contract.ts';
import { createGateway } from './gateway.ts';
import {
  ask,
  type FakeEngine,
  fakeEmbedder,
  fakeEngine,
  fakeStage,
  post,
  renderWriter,
} from './testing/fakes.ts';

interface Bench extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly slot: Slot;
  readonly engine: FakeEngine;
  /** Lets the engine answer. */
  release(): void;
}

async function bench(): Promise<Bench> {
  const gateway = await createGateway({ embedder: fakeEmbedder });
  const { promise, resolve } = promiseWithResolver();
  const engine = fakeEngine(async () => {
    await promise;
    return '["once"]';
  });
  const slot = gateway.openSlot({
    writer: renderWriter(engine),
    stages: [fakeStage('extract')],
    seed: 's',
  });
  return {
    gateway,
    slot,
    engine,
    release: resolve,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

function promiseWithResolver(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Forwards bytes to the gateway, but breaks the first connection once the request has gone through. */
async function cuttingProxy(target: string): Promise<AsyncDisposable & { readonly port: number }> {
  const { port, hostname } = new URL(target);
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    const onward = connect(Number(port), hostname);
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => end.destroy());
      end.on('close', () => sockets.delete(end));
    }
    connections += 1;
    if (connections === 1) {
      socket.once('data', () => {
        setTimeout(() => {
          socket.destroy();
          onward.destroy();
        }, 30);
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

test.concurrent("the real SDK's retry after a cut connection joins the call in flight", async () => {
  await using b = await bench();
  await using proxy = await cuttingProxy(b.gateway.baseUrl);
  const throughProxy = new URL(b.slot.model.baseUrl);
  throughProxy.port = String(proxy.port);
  const sdk = new OpenAI({
    baseURL: throughProxy.href,
    apiKey: b.slot.model.apiKey,
    maxRetries: 2,
  });
  const asking = sdk.chat.completions.create({
    model: 'memwriter',
    messages: [{ role: 'user', content: 'extract: hi' }],
  });
  await expect.poll(() => b.engine.samples.length).toBe(1);
  setTimeout(() => b.release(), 200);
  expect((await asking).choices[0]?.message.content).toBe('["once"]');
  expect(b.engine.samples).toHaveLength(1);
  expect(b.slot.take()).toMatchObject([{ text: '["once"]', outcome: { kind: 'ok' } }]);
});

test.concurrent('a time-out in the SDK, then its retry: one sample, one record', async () => {
  await using b = await bench();
  const { baseUrl: baseURL, apiKey } = b.slot.model;
  const sdk = new OpenAI({ baseURL, apiKey, maxRetries: 3, timeout: 150 });
  const asking = sdk.chat.completions.create({
    model: 'memwriter',
    messages: [{ role: 'user', content: 'extract: hi' }],
  });
  await expect.poll(() => b.engine.samples.length).toBe(1);
  setTimeout(() => b.release(), 300);
  await asking;
  expect([b.engine.samples.length, b.slot.take().length]).toEqual([1, 1]);
});

test.concurrent('without a retry header, an identical request after a cut connection is the same call', async () => {
  await using b = await bench();
  const abort = new AbortController();
  const cut = post(b.slot, ask('extract: hi'), { signal: abort.signal });
  await expect.poll(() => b.engine.samples.length).toBe(1);
  abort.abort();
  await expect(cut).rejects.toThrow();
  await theServerSawIt();
  b.release();
  await answered(b.engine);
  expect(b.slot.take()).toMatchObject([{ outcome: { kind: 'fault', boundary: 'gateway' } }]);
  // Taken as a fault, yet a late repetition still gets the recorded answer and is not sampled again.
  expect((await post(b.slot, ask('extract: hi'))).status).toBe(200);
  expect(b.engine.samples).toHaveLength(1);
  expect(b.slot.take()).toEqual([]);
});

/** The end of a connection is read by a turn of the event loop that comes after some time has passed. */
async function theServerSawIt(): Promise<void> {
  await wait(30);
  await immediate();
  await immediate();
}

async function answered({ samples }: FakeEngine): Promise<void> {
  expect(samples).toHaveLength(1);
  await immediate();
}

test.concurrent('parallel identical questions without a retry header are as many calls', async () => {
  await using b = await bench();
  b.release();
  await Promise.all([1, 2, 3].map(() => post(b.slot, ask('extract: hi'))));
  expect(b.slot.take()).toHaveLength(3);
  expect(new Set(b.engine.samples.map(({ options }) => options.seed)).size).toBe(3);
});

test.concurrent('a retry header on a question never seen is a first call', async () => {
  await using b = await bench();
  b.release();
  const headers = { 'x-stainless-retry-count': '1' };
  expect((await post(b.slot, ask('extract: hi'), { headers })).status).toBe(200);
  expect((await post(b.slot, ask('extract: hi'), { headers })).status).toBe(200);
  expect(b.slot.take()).toHaveLength(1);
});

test.concurrent('a retry in another slot is a call of that slot', async () => {
  await using b = await bench();
  b.release();
  await using other = b.gateway.openSlot({
    writer: renderWriter(b.engine),
    stages: [fakeStage('extract')],
    seed: 's',
  });
  await post(b.slot, ask('extract: hi'));
  await post(other, ask('extract: hi'), { headers: { 'x-stainless-retry-count': '1' } });
  expect([b.slot.take().length, other.take().length]).toEqual([1, 1]);
});
