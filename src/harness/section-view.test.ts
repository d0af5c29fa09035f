/** A view has exactly its own markers, and every member stands in it whole. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeSpecials } from '../core/special-tokens.ts';
import { numbered, sectionView } from './section-view.ts';

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('<|new|>', '<<|date|>', '<|'));

test('no text can spell a marker, and none is shortened', () => {
  fc.assert(
    fc.property(fc.array(text), fc.array(text), (first, second) => {
      const [system, user] = sectionView('<|memos.extract|>', [
        ['<|new|>', first],
        ['<|date|>', second],
      ]);
      expect(system).toEqual({ role: 'system', content: '<|memos.extract|>' });
      expect(user?.content.match(/<\|/g)).toHaveLength(2);
      for (const one of [...first, ...second]) {
        expect(user?.content).toContain(escapeSpecials(one));
      }
    }),
  );
});

test('positions count from 0', () => {
  expect(numbered(['a', 'b'])).toEqual(['0 a', '1 b']);
});
