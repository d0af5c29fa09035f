/** The lexical embedder: deterministic, normalised, and near where words are shared. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHashEmbedder } from './hash-embedder.ts';

const embedder = createHashEmbedder();

async function cosine(a: string, b: string): Promise<number> {
  const [x, y] = await embedder.embed([a, b]);
  if (x === undefined || y === undefined) throw new Error('two vectors expected');
  return x.reduce((sum, value, i) => sum + value * (y[i] ?? Number.NaN), 0);
}

test('every text, however strange, has a unit vector of its own and always the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 80 }), async (text) => {
      const [once, again] = await embedder.embed([text, text]);
      expect(once).toEqual(again);
      expect(once).toHaveLength(256);
      expect(Math.hypot(...(once ?? []))).toBeCloseTo(1, 5);
    }),
  );
});

test.each([
  [
    'Which port does the staging database use?',
    'Staging database listens on port 5433',
    'Adopted a dog named Biscuit',
  ],
  ['What is the dog called?', 'User adopted a dog named Biscuit', 'User moved to Lyon in 2021'],
  ['deployments failing', 'The deployment failed on Friday', 'The garden needs water'],
  ['Where is table.csv?', 'Data is in C:\\new\\build\\table.csv', 'Data is sent by post'],
  ['我的猫叫什么名字', '用户的猫名字叫豆豆', '用户住在上海'],
])('%s is nearer to what answers it', async (question, near, far) => {
  expect(await cosine(question, near)).toBeGreaterThan((await cosine(question, far)) + 0.1);
});

test('stop words alone make nothing similar', async () => {
  expect(await cosine('what is the name of my dog', 'what is the size of my garage')).toBeLessThan(
    0.3,
  );
});
