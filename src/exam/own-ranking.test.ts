/** Our own ranking: nearest first, no more than asked for, nothing from an empty bank. */
import { expect, test } from 'vitest';
import { createHashEmbedder } from '../llm/hash-embedder.ts';
import { rankListing } from './own-ranking.ts';

const embedder = createHashEmbedder({ dimensions: 256 });
const listing = ['the cat likes tuna', 'the build uses node 20', 'lunch is at noon'].map(
  (text, id) => ({ id: String(id), text, store: 'memory' }),
);

test('the memories nearest to the question come first, topK of them', async () => {
  const bank = rankListing(listing, { embedder, topK: 2 });
  const lines = (await bank.retrieve('which node does the build use?')).split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toBe('the build uses node 20');
});

test('an empty bank has an empty block', async () => {
  expect(await rankListing([], { embedder, topK: 2 }).retrieve('anything?')).toBe('');
});
