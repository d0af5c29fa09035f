/** Names that every file system takes and that tell texts apart. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileNameOf } from './file-name.ts';

test('plain text stays, all else becomes plain; different texts have different names', () => {
  expect(fileNameOf('step-0.json')).toBe('step-0.json');
  expect(fileNameOf('user 0/w1')).toMatch(/^user-0-w1-[0-9a-f]{12}$/);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      expect(fileNameOf(a)).toMatch(/^[\w.-]{1,60}$/);
      expect(fileNameOf(a)).not.toMatch(/^\.\.?$/);
      expect(fileNameOf(a) === fileNameOf(b)).toBe(a === b);
    }),
  );
});
