/** The embeddings route: one item per input, floats and base64 alike, cached, and loud when it fails. */
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import type { Embedder } from '../llm/embedder.ts';
import type { Gateway, Slot } from './contract.ts';
import { createGateway } from './gateway.ts';
import { fakeEmbedder, fakeEngine, fakeStage, post, renderWriter } from './testing/fakes.ts';

const open = (gateway: Gateway): Slot =>
  gateway.openSlot({
    writer: renderWriter(fakeEngine(() => '[]')),
    stages: [fakeStage('extract')],
    seed: 's',
  });

const AT = { route: 'embeddings' };

test('strings and lists, floats and base64 carry the same vectors', async () => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  await using slot = open(gateway);
  const expected = [
    Array.from(Float32Array.of(2, 0.1, -1 / 3)),
    Array.from(Float32Array.of(3, 0.1, -1 / 3)),
  ];
  const list = await post(slot, { model: 'm', input: ['ab', 'abc'], dimensions: 3 }, AT);
  expect(list.json).toMatchObject({
    object: 'list',
    data: expected.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  });
  const single = await post(slot, { model: 'm', input: 'ab', encoding_format: 'float' }, AT);
  expect(single.json).toMatchObject({ data: [{ index: 0, embedding: expected[0] }] });
  // The SDK asks for base64 by itself and decodes it.
  const sdk = new OpenAI({ baseURL: slot.embeddings.baseUrl, apiKey: slot.embeddings.apiKey });
  const decoded = await sdk.embeddings.create({
    model: slot.embeddings.model,
    input: ['ab', 'abc'],
  });
  expect(decoded.data.map(({ embedding }) => embedding)).toEqual(expected);
  const base64 = await post(slot, { model: 'm', input: 'ab', encoding_format: 'base64' }, AT);
  expect(base64.json).toMatchObject({
    data: [{ embedding: expect.stringMatching(/^[\w+/]{16}$/) }],
  });
  expect(slot.take()).toEqual([]);
});

test('a text is embedded once, across slots and at once; a failure is not kept', async () => {
  const asked: string[][] = [];
  let fail = true;
  const embedder: Embedder = {
    ...fakeEmbedder,
    embed: async (texts) => {
      asked.push([...texts]);
      if (fail) throw new Error('disk on fire');
      return fakeEmbedder.embed(texts);
    },
  };
  await using gateway = await createGateway({ embedder });
  await using a = open(gateway);
  await using b = open(gateway);
  expect((await post(a, { model: 'm', input: 'x' }, AT)).status).toBe(400);
  expect(a.take()).toMatchObject([
    {
      stage: 'embeddings',
      outcome: { kind: 'fault', boundary: 'embedder', message: 'disk on fire' },
    },
  ]);
  expect(b.take()).toEqual([]);
  fail = false;
  await Promise.all([
    post(a, { model: 'm', input: ['x', 'y', 'x'] }, AT),
    post(b, { model: 'm', input: ['y', 'z'] }, AT),
  ]);
  const [, ...batches] = asked;
  expect(batches.flat().sort()).toEqual(['x', 'y', 'z']);
});

test.each([
  ['other dimensions', { input: 'x', dimensions: 1536 }, 'gateway'],
  ['token ids', { input: [[1, 2]] }, 'gateway'],
  ['an empty list', { input: [] }, 'gateway'],
])('%s are refused and recorded', async (_name, body, boundary) => {
  await using gateway = await createGateway({ embedder: fakeEmbedder });
  await using slot = open(gateway);
  expect((await post(slot, { model: 'm', ...body }, AT)).status).toBe(400);
  expect(slot.take()).toMatchObject([
    { stage: 'embeddings', outcome: { kind: 'fault', boundary } },
  ]);
});

test('an embedder that answers too few vectors is a fault', async () => {
  const embedder: Embedder = { ...fakeEmbedder, embed: async () => [] };
  await using gateway = await createGateway({ embedder });
  await using slot = open(gateway);
  expect((await post(slot, { model: 'm', input: 'x' }, AT)).status).toBe(400);
  expect(slot.take()).toMatchObject([{ outcome: { boundary: 'embedder' } }]);
});
