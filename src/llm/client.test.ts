/** The one retry loop against a scripted provider: what is repeated, what is not, and who is blamed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { FaultError } from '../core/outcome.ts';
import type { Clock } from '../lib/clock.ts';
import { createRng } from '../lib/rng.ts';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  type UpstreamReply,
} from '../testing/scripted-upstream.ts';
import { type ChatClient, createChatClient } from './client.ts';
import { createEndpointEmbedder } from './embeddings.ts';
import { createHttpClient, type HttpClient } from './http.ts';
import { completeJson } from './json.ts';

const HELLO = [{ role: 'user' as const, content: 'hello 🐱' }];
const TEXT: UpstreamReply = {
  kind: 'text',
  text: 'hi',
  usage: { promptTokens: 10, completionTokens: 2 },
};

interface Bench extends AsyncDisposable {
  readonly upstream: ScriptedUpstream;
  readonly http: HttpClient;
  readonly client: ChatClient;
  readonly waitsMs: number[];
}

/** Waits are noted, not waited. */
async function bench(script: readonly UpstreamReply[], timeoutMs = 5000): Promise<Bench> {
  const upstream = await startScriptedUpstream(script);
  const waitsMs: number[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      waitsMs.push(ms);
    },
  };
  const http = createHttpClient({ clock, rng: createRng('jitter') });
  const prices = { 'upstream-model': { promptUsdPerMillion: 1, completionUsdPerMillion: 5 } };
  const client = createChatClient({ http, endpoint: upstream.endpoint, timeoutMs, prices });
  return {
    upstream,
    http,
    client,
    waitsMs,
    [Symbol.asyncDispose]: async () => {
      await http[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

test('an answer comes with usage and cost', async () => {
  await using b = await bench([TEXT]);
  expect(await b.client.complete(HELLO, { temperature: 0, maxTokens: 5 })).toEqual({
    text: 'hi',
    finishReason: 'stop',
    usage: { promptTokens: 10, completionTokens: 2, costUsd: 20 / 1e6 },
    attempts: 1,
  });
  expect(b.upstream.requests).toEqual([
    {
      path: '/v1/chat/completions',
      authorization: 'Bearer upstream-key',
      body: { model: 'upstream-model', messages: HELLO, temperature: 0, max_tokens: 5 },
    },
  ]);
});

test('an unknown price gives usage without cost, missing usage gives none', async () => {
  await using b = await bench([TEXT, { kind: 'text', text: 'hi' }]);
  const client = createChatClient({ http: b.http, endpoint: b.upstream.endpoint, timeoutMs: 5000 });
  expect((await client.complete(HELLO)).usage).toEqual({ promptTokens: 10, completionTokens: 2 });
  expect((await client.complete(HELLO)).usage).toBeUndefined();
});

test.each<[string, UpstreamReply]>([
  ['429', { kind: 'status', status: 429 }],
  ['500', { kind: 'status', status: 500 }],
  ['503', { kind: 'status', status: 503 }],
  ['a cut connection', { kind: 'cut' }],
  ['a page of HTML', { kind: 'raw', body: '<html>', contentType: 'text/html' }],
  ['an answer without a choice', { kind: 'raw', body: '{"choices": []}' }],
])('%s is asked again', async (_name, failure) => {
  await using b = await bench([failure, failure, TEXT]);
  expect(await b.client.complete(HELLO)).toMatchObject({ text: 'hi', attempts: 3 });
  expect(b.waitsMs).toHaveLength(2);
  expect(b.waitsMs[0]).toBeLessThanOrEqual(500);
  expect(b.waitsMs[1]).toBeLessThanOrEqual(1000);
});

test.each([400, 401, 403, 404, 422])('%d is not asked again', async (status) => {
  await using b = await bench([
    { kind: 'status', status, error: { message: 'no', code: 'x' } },
    TEXT,
  ]);
  const error = await b.client.complete(HELLO).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FaultError);
  expect(error).toMatchObject({ boundary: 'upstream', status, code: 'x' });
  expect(String(error)).toContain(`HTTP ${status}: no (1 attempt)`);
  expect(b.upstream.requests).toHaveLength(1);
});

test('a spent quota is a 429 that no waiting cures', async () => {
  const error = { message: 'pay', code: 'insufficient_quota' };
  await using b = await bench([{ kind: 'status', status: 429, error }]);
  await expect(b.client.complete(HELLO)).rejects.toThrow('(1 attempt)');
});

test('attempts end, and the fault tells status and attempts', async () => {
  await using b = await bench(Array.from({ length: 9 }, () => ({ kind: 'status', status: 502 })));
  await expect(b.client.complete(HELLO)).rejects.toThrow('HTTP 502: status 502 (4 attempts)');
  expect(b.upstream.requests).toHaveLength(4);
});

test('Retry-After is obeyed in seconds and as a date, and gives up where it is too long', async () => {
  const after = (value: string): UpstreamReply => ({
    kind: 'status',
    status: 429,
    headers: { 'retry-after': value, date: 'Wed, 01 Jan 2025 00:00:00 GMT' },
  });
  await using b = await bench([after('7'), after('Wed, 01 Jan 2025 00:00:09 GMT'), after('900')]);
  await expect(b.client.complete(HELLO)).rejects.toThrow('(3 attempts)');
  expect(b.waitsMs).toEqual([7000, 9000]);
});

test('a provider that hangs is a time-out on each attempt', async () => {
  await using b = await bench([{ kind: 'hang' }, TEXT], 40);
  expect(await b.client.complete(HELLO)).toMatchObject({ attempts: 2 });
});

test('an abort ends the attempt and is not repeated', async () => {
  await using b = await bench([{ kind: 'hang' }, TEXT]);
  const abort = new AbortController();
  const asking = b.client.complete(HELLO, { signal: abort.signal });
  await expect.poll(() => b.upstream.requests.length).toBe(1);
  abort.abort();
  await expect(asking).rejects.toThrow('aborted (1 attempt)');
});

test('a stream arrives in pieces, astral characters whole, usage at the end', async () => {
  const text = 'ab🐱cd — ü';
  await using b = await bench([
    { kind: 'status', status: 500 },
    { ...TEXT, text },
  ]);
  const pieces: string[] = [];
  const answer = await b.client.stream(HELLO, (piece) => pieces.push(piece));
  expect(pieces.length).toBeGreaterThan(1);
  expect(answer).toMatchObject({
    text,
    attempts: 2,
    finishReason: 'stop',
    usage: { costUsd: 20 / 1e6 },
  });
});

test('a stream that breaks off is a fault and is not begun again', async () => {
  await using b = await bench([{ ...TEXT, text: 'abcdefghi', cutAfterPieces: 2 }, TEXT]);
  await expect(b.client.stream(HELLO, () => {})).rejects.toMatchObject({ boundary: 'upstream' });
  expect(b.upstream.requests).toHaveLength(1);
});

const schema = z.strictObject({ verdict: z.enum(['yes', 'no']) });
const question = { messages: HELLO, schema, boundary: 'judge' as const };
const say = (text: string, finishReason = 'stop'): UpstreamReply => ({
  kind: 'text',
  text,
  finishReason,
});

test.each([
  '{"verdict":"yes"}',
  '```json\n{"verdict":"yes"}\n```',
  '<think>{"verdict":"no"}?</think>\n{"verdict":"yes"}',
])('JSON is taken from %j', async (text) => {
  await using b = await bench([say(text)]);
  expect((await completeJson(b.client, question)).value).toEqual({ verdict: 'yes' });
});

test('bad JSON is questioned once, then it is a fault of its asker', async () => {
  await using b = await bench([say('maybe'), say('{"verdict":"no"}')]);
  expect(await completeJson(b.client, question)).toMatchObject({ value: { verdict: 'no' } });
  expect(b.upstream.requests[1]?.body).toMatchObject({
    messages: [{}, { role: 'assistant', content: 'maybe' }, { role: 'user' }],
    response_format: { type: 'json_object' },
  });
  await using again = await bench([
    say('{"verdict":"perhaps"}'),
    say('{"verdict":"no"}', 'length'),
  ]);
  await expect(completeJson(again.client, question)).rejects.toMatchObject({ boundary: 'judge' });
  expect(again.upstream.requests).toHaveLength(2);
});

test('an endpoint embeds in order, and a wrong dimension is a fault of the embedder', async () => {
  const vectors = [
    [1, 0],
    [0.5, -0.5],
  ];
  await using b = await bench([
    { kind: 'embeddings', vectors },
    { kind: 'embeddings', vectors },
  ]);
  const options = { http: b.http, endpoint: b.upstream.endpoint, timeoutMs: 5000 };
  const embedder = createEndpointEmbedder({ ...options, dimensions: 2 });
  expect(await embedder.embed(['a', 'b'])).toEqual(vectors.map((v) => Float32Array.from(v)));
  const wrong = createEndpointEmbedder({ ...options, dimensions: 3 });
  await expect(wrong.embed(['a', 'b'])).rejects.toMatchObject({ boundary: 'embedder' });
});
