/** The gateway over real sockets: doors, rendering, and what is and is not recorded. */
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { ContextOverflowError } from '../engine/contract.ts';
import type { Gateway, Slot, Writer } from './contract.ts';
import { createGateway } from './gateway.ts';
import { ask, fakeEmbedder, fakeEngine, fakeStage, post, renderWriter } from './testing/fakes.ts';

const open = (gateway: Gateway, writer: Writer, seed = 'seed'): Slot =>
  gateway.openSlot({ writer, stages: [fakeStage('extract'), fakeStage('update')], seed });

const sdk = (slot: Slot): OpenAI =>
  new OpenAI({ baseURL: slot.model.baseUrl, apiKey: slot.model.apiKey, maxRetries: 1 });

test('a rendered call is recorded token by token and answered as OpenAI would', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(() => '["likes 🐱"]');
  await using slot = open(gateway, renderWriter(engine));
  const completion = await sdk(slot).chat.completions.create({
    model: slot.model.model,
    messages: [{ role: 'user', content: 'extract: hi' }],
  });
  expect(completion.choices[0]).toMatchObject({
    message: { role: 'assistant', content: '["likes 🐱"]' },
    finish_reason: 'stop',
  });
  const [call, ...others] = slot.take();
  expect(others).toEqual([]);
  expect(call).toMatchObject({
    id: '0',
    purpose: 'write',
    stage: 'extract',
    messages: [{ role: 'user', content: 'extract: hi' }],
    text: '["likes 🐱"]',
    stopReason: 'stop',
    outcome: { kind: 'ok' },
    usage: { promptTokens: 11, completionTokens: 12 },
  });
  expect(call?.segment?.sampledIds).toHaveLength(12);
  expect(call?.segment?.logprobs).toHaveLength(12);
  expect(call?.segment?.policyVersion).toBe(7);
  expect(slot.take()).toEqual([]);
});

test('both the path and the key are checked, and every refusal is counted', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(() => '[]');
  await using mine = open(gateway, renderWriter(engine));
  await using other = open(gateway, renderWriter(engine));
  const as = (authorization: string): Promise<{ status: number }> =>
    post(mine, ask('extract: hi'), { headers: { authorization } });
  expect((await as(`Bearer ${other.model.apiKey}`)).status).toBe(403);
  expect((await as('')).status).toBe(401);
  expect((await as(`Basic ${mine.model.apiKey}`)).status).toBe(401);
  const stranger = mine.model.baseUrl.replace(/\/s\/[^/]+/, '/s/guess');
  const unknown = { ...mine, model: { ...mine.model, baseUrl: stranger } };
  expect((await post(unknown, ask('extract: hi'))).status).toBe(404);
  expect((await post(mine, ask('extract: hi'), { route: 'responses' })).status).toBe(404);
  const forEmbeddings = { route: 'embeddings', headers: { authorization: 'Bearer no' } };
  expect((await post(mine, { model: 'm', input: 'x' }, forEmbeddings)).status).toBe(403);
  expect(gateway.refusals.count).toBe(6);
  expect(gateway.refusals.recent.map(({ reason }) => reason)).toEqual([
    'wrong-key',
    'missing-key',
    'missing-key',
    'unknown-slot',
    'unknown-route',
    'wrong-key',
  ]);
  expect(JSON.stringify(gateway.refusals)).not.toContain('guess');
  expect([mine.take(), other.take(), engine.samples]).toEqual([[], [], []]);
});

test('a closed slot refuses, aborts what is in flight, and its record keeps the fault', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(
    (_prompt, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
      }),
  );
  const slot = open(gateway, renderWriter(engine));
  const pending = post(slot, ask('extract: hi'));
  await expect.poll(() => engine.samples.length).toBe(1);
  expect(() => slot.take()).toThrow('in flight');
  await slot[Symbol.asyncDispose]();
  expect((await pending).status).toBe(500);
  expect(slot.take()).toMatchObject([{ outcome: { kind: 'fault', boundary: 'policy-engine' } }]);
  expect((await post(slot, ask('extract: hi'))).status).toBe(403);
  expect(gateway.refusals.recent).toMatchObject([{ reason: 'closed-slot' }]);
  expect(slot.take()).toEqual([]);
});

test('64 calls of two slots at once: no record crosses, each slot keeps its order', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(async (prompt) => {
    await new Promise((resolve) => setTimeout(resolve, prompt.length % 3));
    return JSON.stringify([prompt]);
  });
  await using a = open(gateway, renderWriter(engine));
  await using b = open(gateway, renderWriter(engine));
  const replies = await Promise.all(
    Array.from({ length: 64 }, (_, i) => {
      const name = i % 2 === 0 ? 'a' : 'b';
      return post(name === 'a' ? a : b, ask(`extract: ${name}${'.'.repeat(i)}`));
    }),
  );
  expect(replies.every(({ status }) => status === 200)).toBe(true);
  for (const [slot, name] of [[a, 'a'] as const, [b, 'b'] as const]) {
    const calls = slot.take();
    expect(calls.map(({ id }) => id)).toEqual(Array.from({ length: 32 }, (_, i) => String(i)));
    expect(calls.every(({ messages }) => messages[0]?.content.startsWith(`extract: ${name}`))).toBe(
      true,
    );
    expect(
      calls.every(({ text, messages }) => text === JSON.stringify([messages[0]?.content])),
    ).toBe(true);
  }
});

test('bad actions are policy errors with their reason, whatever the framework makes of them', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const answers = ['not json', '{"facts":[]}', '', ' \u200b\u3000', '["a long answer"]'];
  const engine = fakeEngine((prompt) => {
    if (prompt.includes('overflow')) throw new ContextOverflowError('512 tokens do not fit');
    return answers.shift() ?? '[]';
  });
  await using slot = open(gateway, renderWriter(engine));
  for (let i = 0; i < 4; i++) await post(slot, ask('extract: x'));
  const cut = await post(slot, ask('extract: x', { max_completion_tokens: 4 }));
  expect(cut.json).toMatchObject({
    choices: [{ finish_reason: 'length', message: { content: '["a ' } }],
  });
  const overflow = await post(slot, ask('extract: overflow'));
  expect([overflow.status, overflow.json]).toMatchObject([
    400,
    { error: { code: 'context_length_exceeded', message: '512 tokens do not fit' } },
  ]);
  const calls = slot.take();
  expect(calls.map(({ outcome }) => outcome)).toEqual(
    [
      'unparsable',
      'schema-invalid',
      'empty-completion',
      'empty-completion',
      'truncated',
      'context-overflow',
    ].map((reason) => ({ kind: 'policy-error', reasons: [reason] })),
  );
  expect(calls.at(-1)).toMatchObject({ stopReason: 'overflow', text: '' });
  expect(calls.at(-1)?.segment).toBeUndefined();
});

test('an unknown, an ambiguous and an unreadable request fail closed and are recorded', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(() => '[]');
  await using slot = gateway.openSlot({
    writer: renderWriter(engine),
    stages: [fakeStage('extract'), fakeStage('extract')],
    seed: 's',
  });
  const bodies = [
    ask('summarise: hi'),
    ask('extract: hi'),
    '{"model": "m", "messages": [',
    { model: 'm', messages: [] },
    ask('extract: hi', { tools: [{ type: 'function' }] }),
    ask('extract: hi', { n: 2 }),
  ];
  for (const body of bodies) expect((await post(slot, body)).status).toBe(400);
  const calls = slot.take();
  expect(calls).toHaveLength(bodies.length);
  for (const call of calls) {
    expect(call).toMatchObject({
      stage: 'unknown',
      outcome: { kind: 'fault', boundary: 'gateway' },
    });
  }
  expect(calls.at(-2)?.outcome).toMatchObject({ message: 'tools is not supported here' });
  expect(engine.samples).toEqual([]);
});

test("an engine's failure is a platform fault, answered once however often the SDK retries", async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(() => {
    throw new Error('out of memory');
  });
  await using slot = open(gateway, renderWriter(engine));
  const asking = sdk(slot).chat.completions.create({
    model: 'memwriter',
    messages: [{ role: 'user', content: 'extract: hi' }],
  });
  await expect(asking).rejects.toThrow('out of memory');
  expect(engine.samples).toHaveLength(1);
  const fault = { kind: 'fault', boundary: 'policy-engine', message: 'out of memory' };
  expect(slot.take()).toMatchObject([{ outcome: fault, stopReason: 'error' }]);
});

test("a framework's repeated question is a new call with a seed of its own", async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(() => '[]');
  await using slot = open(gateway, renderWriter(engine));
  await post(slot, ask('extract: same'));
  await post(slot, ask('extract: same'));
  slot.setPurpose('retrieve');
  await post(slot, ask('extract: same'));
  expect(new Set(engine.samples.map(({ options }) => options.seed)).size).toBe(3);
  expect(slot.take().map(({ purpose }) => purpose)).toEqual(['write', 'write', 'retrieve']);
});

test('seeds follow the question and its occurrence, not the order in which calls race', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const seeds = async (order: readonly string[]): Promise<Record<string, string>> => {
    const engine = fakeEngine(() => '[]');
    await using slot = open(gateway, renderWriter(engine), 'root');
    for (const content of order) await post(slot, ask(content));
    return Object.fromEntries(engine.samples.map(({ prompt, options }) => [prompt, options.seed]));
  };
  expect(await seeds(['extract: a', 'update: b'])).toEqual(
    await seeds(['update: b', 'extract: a']),
  );
});

test('list content, developer role, emoji, lone surrogates and a megabyte go through', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const engine = fakeEngine(() => '[]');
  await using slot = open(gateway, renderWriter(engine));
  const image = {
    type: 'image_url',
    image_url: { url: `data:image/png;base64,${'A'.repeat(500)}` },
  };
  const body = {
    model: 'm',
    max_completion_tokens: 99,
    response_format: { type: 'json_object' },
    vendor_field: true,
    messages: [
      { role: 'developer', content: 'extract: 🐱' },
      { role: 'user', content: [{ type: 'text', text: 'look' }, image] },
      { role: 'assistant', content: null, tool_calls: [{ id: 't', function: { name: 'f' } }] },
      { role: 'user', content: `cut \ud83d here ${'x'.repeat(1_000_000)}` },
    ],
  };
  expect((await post(slot, body)).status).toBe(200);
  const [call] = slot.take();
  expect(call?.messages.map(({ role }) => role)).toEqual([
    'developer',
    'user',
    'assistant',
    'user',
  ]);
  expect(call?.messages[1]?.content).toMatch(/^look\n\[image_url: .{1,200}\]$/s);
  expect(call?.messages[2]?.content).toContain('"name":"f"');
  expect(call?.messages[3]?.content.startsWith('cut \uFFFD here')).toBe(true);
  expect(engine.samples[0]?.options.maxTokens).toBe(99);
});

test('a streamed answer is the same answer, with usage when asked for', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  await using slot = open(gateway, renderWriter(fakeEngine(() => '["ü"]')));
  const stream = await sdk(slot).chat.completions.create({
    model: 'memwriter',
    messages: [{ role: 'user', content: 'extract: hi' }],
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let completionTokens: number | undefined;
  for await (const event of stream) {
    text += event.choices[0]?.delta.content ?? '';
    completionTokens = event.usage?.completion_tokens;
  }
  expect([text, completionTokens]).toEqual(['["ü"]', 6]);
  expect(slot.take()).toMatchObject([{ text: '["ü"]', outcome: { kind: 'ok' } }]);
});

test('a scripted writer sees the recognised stage; its bug is a fault, not a policy error', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  await using slot = open(gateway, {
    kind: 'scripted',
    reply: (stage, messages) => {
      if (stage.name === 'update') throw new Error('no answer for update');
      return stage.compose(messages.map(({ content }) => content));
    },
  });
  expect((await post(slot, ask('extract: hi'))).json).toMatchObject({
    choices: [{ message: { content: '["extract: hi"]' } }],
  });
  expect((await post(slot, ask('update: hi'))).status).toBe(400);
  expect(slot.take().map(({ outcome }) => outcome)).toEqual([
    { kind: 'ok' },
    { kind: 'fault', boundary: 'gateway', message: 'no answer for update' },
  ]);
});

test('an answer in the names of the view reaches framework, verdict and record in the framework’s own; its tokens stay', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  const renaming = {
    ...fakeStage('extract'),
    fromView: (answer: string) => answer.replace('position 0', 'memory 3f2a'),
  };
  await using slot = gateway.openSlot({
    writer: renderWriter(fakeEngine(() => '["position 0"]')),
    stages: [renaming],
    seed: 'seed',
  });
  const completion = await sdk(slot).chat.completions.create({
    model: slot.model.model,
    messages: [{ role: 'user', content: 'extract: hi' }],
  });
  expect(completion.choices[0]?.message.content).toBe('["memory 3f2a"]');
  const [call] = slot.take();
  expect(call).toMatchObject({ text: '["memory 3f2a"]', outcome: { kind: 'ok' } });
  expect(String.fromCodePoint(...(call?.segment?.sampledIds.slice(0, -1) ?? []))).toBe(
    '["position 0"]',
  );
});
