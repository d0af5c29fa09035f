/** The caps on a chunk's probes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Category, categorySchema, type Probe, type WindowArtifact } from '../core/exam.ts';
import { sha256 } from '../lib/hash.ts';
import { SELECT_DEFAULTS, selectProbes } from './select.ts';

type Draft = { readonly id: string; readonly category: Category; margin?: number; chunk?: number };

function probeOf({ id, category, margin = 0, chunk = 0 }: Draft): Probe {
  const rubric = [{ id: 'c', text: 'c', weight: 1 }];
  const base = { id, question: 'q', reference: 'r', rubric, facets: {}, margin };
  const chunkId = `c${chunk}`;
  return category === 'should-not-store'
    ? { kind: 'trap', ...base, category, chunkId }
    : { kind: 'recall', ...base, category, chunkId };
}

function artifactOf(drafts: readonly Draft[]): WindowArtifact {
  const chunks = [0, 1].map((index) => ({
    id: `c${index}`,
    userId: 'ann',
    sessionId: 's',
    index,
    at: '2024-05-08T20:15:00Z',
    scene: 'chat' as const,
    messages: [],
    tokens: 0,
    oversized: false,
  }));
  const window = { id: 'w', userId: 'ann', index: 0, chunks };
  return { window, probes: drafts.map(probeOf), questions: [] };
}

function keptIds(drafts: readonly Draft[], options = SELECT_DEFAULTS): string[] {
  return selectProbes([artifactOf(drafts)], options)
    .artifacts.flatMap(({ probes }) => probes.map(({ id }) => id))
    .sort();
}

test('round-robin over the categories present: none takes a second place before each had one', () => {
  const drafts: Draft[] = [
    { id: 'a1', category: 'specificity', margin: 0.9 },
    { id: 'a2', category: 'specificity', margin: 0.8 },
    { id: 'a3', category: 'specificity', margin: 0.7 },
    { id: 'b1', category: 'state-transition', margin: 0.1 },
  ];
  expect(keptIds(drafts)).toEqual(['a1', 'a2', 'b1']);
});

test('within a category the larger margin goes first, then the smaller sha256 of the id', () => {
  const ids = ['p', 'q', 'r', 's', 't'];
  const ties = ids.map((id): Draft => ({ id, category: 'specificity' }));
  const byHash = [...ids].sort((a, b) => (sha256(a) < sha256(b) ? -1 : 1));
  expect(keptIds(ties)).toEqual(byHash.slice(0, 3).sort());
  const best: Draft = { id: byHash[4] ?? '', category: 'specificity', margin: 0.1 };
  expect(keptIds([...ties.filter(({ id }) => id !== best.id), best])).toContain(best.id);
});

test('of several traps the one with the highest margin stays, beside three recall probes', () => {
  const drafts: Draft[] = [
    { id: 't1', category: 'should-not-store', margin: 0.2 },
    { id: 't2', category: 'should-not-store', margin: 0.4 },
    ...['a', 'b', 'c'].map((id): Draft => ({ id, category: 'specificity' })),
  ];
  expect(keptIds(drafts)).toEqual(['a', 'b', 'c', 't2']);
});

test('the caps are per chunk and can be set', () => {
  const drafts = ['a', 'b', 'c', 'd'].flatMap((id): Draft[] =>
    [0, 1].map((chunk) => ({ id: `${id}${chunk}`, category: 'specificity', chunk })),
  );
  expect(keptIds(drafts)).toHaveLength(6);
  expect(keptIds(drafts, { recallPerChunk: 1, trapsPerChunk: 0 })).toHaveLength(2);
});

test('what was offered and what was kept is counted by kind and category', () => {
  const drafts: Draft[] = [
    ...['a', 'b', 'c', 'd'].map((id): Draft => ({ id, category: 'specificity' })),
    { id: 't1', category: 'should-not-store' },
    { id: 't2', category: 'should-not-store' },
  ];
  expect(selectProbes([artifactOf(drafts)]).counts).toEqual({
    recall: { offered: 4, kept: 3 },
    traps: { offered: 2, kept: 1 },
    categories: {
      specificity: { offered: 4, kept: 3 },
      'should-not-store': { offered: 2, kept: 1 },
    },
  });
});

test('property: the order in which probes come in does not change which are kept', () => {
  const draftArb = fc.record({
    category: fc.constantFrom(...categorySchema.options),
    margin: fc.constantFrom(0, 0.1, 0.5),
    chunk: fc.nat(1),
  });
  const draftsArb = fc
    .array(draftArb, { maxLength: 20 })
    .map((drafts) => drafts.map((draft, i): Draft => ({ ...draft, id: `p${i}` })));
  fc.assert(
    fc.property(draftsArb, fc.infiniteStream(fc.nat()), (drafts, keys) => {
      const shuffled = drafts
        .map((draft) => ({ draft, key: keys.next().value }))
        .sort((a, b) => a.key - b.key)
        .map(({ draft }) => draft);
      expect(keptIds(shuffled)).toEqual(keptIds(drafts));
      for (const chunk of [0, 1]) {
        const kept = drafts.filter((d) => d.chunk === chunk && keptIds(drafts).includes(d.id));
        const traps = kept.filter(({ category }) => category === 'should-not-store');
        expect(traps.length).toBeLessThanOrEqual(1);
        expect(kept.length - traps.length).toBeLessThanOrEqual(3);
      }
    }),
    { numRuns: 60 },
  );
});
