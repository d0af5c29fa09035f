/** The relay between a real SDK and a scripted provider: passed through, recorded, retried once and by us alone. */
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  type UpstreamReply,
  type UpstreamScript,
} from '../testing/scripted-upstream.ts';
import type { Gateway, Slot } from './contract.ts';
import { createGateway } from './gateway.ts';
import { ask, fakeEmbedder, fakeStage, post } from './testing/fakes.ts';

interface Bench extends AsyncDisposable {
  readonly upstream: ScriptedUpstream;
  readonly gateway: Gateway;
  readonly slot: Slot;
}

const RETRY = { attempts: 3, baseDelayMs: 1, maxDelayMs: 2, maxRetryAfterMs: 1000 };

async function bench(script: UpstreamScript, stages = [fakeStage('extract')]): Promise<Bench> {
  const upstream = await startScriptedUpstream(script);
  const gateway = await createGateway({
    embedder: fakeEmbedder,
    retry: RETRY,
    prices: { 'upstream-model': { promptUsdPerMillion: 2, completionUsdPerMillion: 10 } },
  });
  const writer = { kind: 'relay' as const, endpoint: upstream.endpoint, timeoutMs: 5000 };
  return {
    upstream,
    gateway,
    slot: gateway.openSlot({ writer, stages, seed: 's' }),
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const say = (text: string, finishReason = 'stop'): UpstreamReply => ({
  kind: 'text',
  text,
  finishReason,
  usage: { promptTokens: 100, completionTokens: 10 },
});

test('every field goes through unchanged but the model, the answer comes back byte for byte', async () => {
  const raw = `{"vendor": 1,  "choices": [{"message": {"content": "[\\"\\ud83d\\udc31\\"]"}, "finish_reason": "stop"}]}`;
  await using b = await bench([{ kind: 'raw', body: raw }]);
  const sent = {
    model: 'memwriter',
    messages: [
      { role: 'developer', content: [{ type: 'text', text: 'extract: 🐱' }], name: 'x' },
      { role: 'user', content: 'hi' },
    ],
    temperature: 0.3,
    max_completion_tokens: 512,
    response_format: { type: 'json_object' },
    tools: [{ type: 'function' }],
    vendor_field: { a: [1] },
  };
  expect((await post(b.slot, sent)).text).toBe(raw);
  expect(b.upstream.requests[0]?.body).toEqual({ ...sent, model: 'upstream-model' });
  expect(b.upstream.requests[0]?.authorization).toBe('Bearer upstream-key');
  expect(b.slot.take()).toMatchObject([
    { text: '["🐱"]', stage: 'extract', outcome: { kind: 'ok' } },
  ]);
});

test.each([
  [
    'spaced keys',
    '{"messages": [{"role": "user", "content": "extract: x"}], "model": "memwriter"}',
  ],
  [
    'compact',
    '{"model":"memwriter","messages":[{"role":"user","content":"extract: \\"model\\":\\"memwriter\\""}]}',
  ],
  [
    'an escaped key',
    '{"mod\\u0065l":"memwriter","messages":[{"role":"user","content":"extract: x"}]}',
  ],
  [
    'a model of the vendor',
    '{"vendor":{"model":"memwriter"},"model":"memwriter","messages":[{"role":"user","content":"extract: x"}]}',
  ],
  [
    'model as a value',
    '{"user":"model","model":"memwriter","messages":[{"role":"user","content":"extract: x"}]}',
  ],
])('only the top-level model is exchanged: %s', async (_name, body) => {
  await using b = await bench([say('[]')]);
  expect((await post(b.slot, body)).status).toBe(200);
  expect(b.upstream.requests[0]?.body).toEqual({ ...JSON.parse(body), model: 'upstream-model' });
});

test('usage and cost are recorded, malformed actions named', async () => {
  await using b = await bench([say('["a"]'), say('oops'), say('["cut', 'length'), say('')]);
  for (let i = 0; i < 4; i++) await post(b.slot, ask('extract: x'));
  const calls = b.slot.take();
  expect(calls[0]?.usage).toEqual({ promptTokens: 100, completionTokens: 10, costUsd: 300 / 1e6 });
  expect(calls.map(({ outcome }) => outcome)).toEqual([
    { kind: 'ok' },
    { kind: 'policy-error', reasons: ['unparsable'] },
    { kind: 'policy-error', reasons: ['truncated'] },
    { kind: 'policy-error', reasons: ['empty-completion'] },
  ]);
});

test.each<[string, UpstreamReply, number]>([
  ['429 throughout', { kind: 'status', status: 429 }, 3],
  ['a 5xx throughout', { kind: 'status', status: 503 }, 3],
  ['cut connections', { kind: 'cut' }, 3],
  ['malformed JSON', { kind: 'raw', body: '{"choices": [' }, 3],
  ['a wrong key', { kind: 'status', status: 401 }, 1],
  ['a filtered answer', say('', 'content_filter'), 1],
])(
  '%s: a fault of upstream, and the SDK does not multiply our retries',
  async (_name, reply, asked) => {
    await using b = await bench(() => reply);
    const sdk = new OpenAI({
      baseURL: b.slot.model.baseUrl,
      apiKey: b.slot.model.apiKey,
      maxRetries: 5,
    });
    const asking = sdk.chat.completions.create({
      model: 'memwriter',
      messages: [{ role: 'user', content: 'extract: x' }],
    });
    await expect(asking).rejects.toMatchObject({ status: 400 });
    expect(b.upstream.requests).toHaveLength(asked);
    expect(b.slot.take()).toMatchObject([{ outcome: { kind: 'fault', boundary: 'upstream' } }]);
  },
);

test.each([
  { message: 'too long', code: 'context_length_exceeded' },
  { message: "This model's maximum context length is 4096 tokens" },
])('a context overflow upstream is a policy error: $message', async (error) => {
  await using b = await bench([{ kind: 'status', status: 400, error }]);
  const reply = await post(b.slot, ask('extract: x'));
  expect(reply).toMatchObject({
    status: 400,
    json: { error: { code: 'context_length_exceeded' } },
  });
  expect(b.slot.take()).toMatchObject([
    { stopReason: 'overflow', outcome: { kind: 'policy-error', reasons: ['context-overflow'] } },
  ]);
});

test('an overloaded provider that speaks of context is a fault, not an overflow', async () => {
  const error = { message: 'the context window service is overloaded' };
  await using b = await bench(Array(3).fill({ kind: 'status', status: 503, error }));
  expect((await post(b.slot, ask('extract: x'))).status).toBe(400);
  expect(b.slot.take()).toMatchObject([{ outcome: { kind: 'fault', boundary: 'upstream' } }]);
});

test('a stream passes through as it arrives and is recorded whole', async () => {
  await using b = await bench([{ kind: 'status', status: 500 }, say('["héé 🐱"]')]);
  const sdk = new OpenAI({ baseURL: b.slot.model.baseUrl, apiKey: b.slot.model.apiKey });
  const stream = await sdk.chat.completions.create({
    model: 'memwriter',
    messages: [{ role: 'user', content: 'extract: x' }],
    stream: true,
  });
  let text = '';
  for await (const event of stream) text += event.choices[0]?.delta.content ?? '';
  expect(text).toBe('["héé 🐱"]');
  expect(b.slot.take()).toMatchObject([
    { text, outcome: { kind: 'ok' }, usage: { costUsd: 300 / 1e6 } },
  ]);
});

test('a stream that breaks off is a fault; the framework sees a broken stream, not a short answer', async () => {
  await using b = await bench([{ kind: 'text', text: '["abcdef"]', cutAfterPieces: 2 }]);
  await expect(post(b.slot, ask('extract: x', { stream: true }))).rejects.toThrow();
  expect(b.slot.take()).toMatchObject([{ outcome: { kind: 'fault', boundary: 'upstream' } }]);
});

test('an unknown request is never passed through; without stages a relay passes everything', async () => {
  await using strict = await bench([say('[]')]);
  expect((await post(strict.slot, ask('summarise: x'))).status).toBe(400);
  expect(strict.upstream.requests).toEqual([]);
  await using open = await bench([say('anything')], []);
  expect((await post(open.slot, ask('summarise: x'))).status).toBe(200);
  expect(open.slot.take()).toMatchObject([{ stage: 'unchecked', outcome: { kind: 'ok' } }]);
});

test('closing a slot aborts its call upstream', async () => {
  await using b = await bench([{ kind: 'hang' }]);
  const pending = post(b.slot, ask('extract: x'));
  await expect.poll(() => b.upstream.requests.length).toBe(1);
  await b.slot[Symbol.asyncDispose]();
  expect((await pending).status).toBe(400);
  expect(b.slot.take()).toMatchObject([{ outcome: { kind: 'fault', boundary: 'upstream' } }]);
});

test('a slot that never rests hands each record over and stays small', async () => {
  await using upstream = await startScriptedUpstream(() => say('[]'));
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const calls: string[] = [];
  await using slot = gateway.openSlot({
    writer: { kind: 'relay', endpoint: upstream.endpoint, timeoutMs: 5000 },
    stages: [],
    seed: 's',
    onCall: ({ id, outcome }) => calls.push(`${id} ${outcome.kind}`),
  });
  for (let i = 0; i < 70; i++) await post(slot, ask(`q${i}`));
  await post(slot, { model: 'm', input: [] }, { route: 'embeddings' });
  const headers = { 'x-stainless-retry-count': '1' };
  await post(slot, ask('q69'), { headers });
  await post(slot, ask('q0'), { headers });
  expect(calls).toHaveLength(72);
  expect(calls.slice(-2)).toEqual(['70 fault', '71 ok']);
  expect(slot.take()).toEqual([]);
});
