/** Whatever Python prints of lists, dictionaries and strings is read back as it was. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LiteralError, parseLiteral } from './python-literal.ts';

/** As Python's `repr` prints: single quotes unless only those are inside, control characters escaped. */
function repr(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([key, member]) => `${repr(key)}: ${repr(member)}`)
      .join(', ')}}`;
  }
  const text = String(value);
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = [...text].map((character) => {
    if (character === '\\' || character === quote) return `\\${character}`;
    const named = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
    if (named !== undefined) return named;
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`;
    if (code >= 0xe000 && code < 0xf900) return `\\u${code.toString(16)}`;
    return code >= 0xe0000 ? `\\U${code.toString(16).padStart(8, '0')}` : character;
  });
  return `${quote}${body.join('')}${quote}`;
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom("it's", 'say "hi"', `both ' and "`, 'a\\b', 'two\nlines', '🐱', '\u0000', '[]'),
);

test('strings, lists of strings and lists of dictionaries come back', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(text, fc.record({ id: text, text }))), (value) => {
      expect(parseLiteral(repr(value))).toEqual(value);
    }),
  );
});

test.each([['[1]'], ["['a'"], ["'a' 'b'"], ["'\\q'"], ['None'], [''], ["['a',]"], ["'\\x4'"]])(
  '%s is not such a literal',
  (literal) => {
    expect(() => parseLiteral(literal)).toThrow(LiteralError);
  },
);
