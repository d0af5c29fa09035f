/** Tokens are exact where it matters and forgiving where it does not. */
import { expect, test } from 'vitest';
import { contentStems, phraseSpans, stem, tokenise } from './text.ts';

test.each([
  ['The code is 4211.', ['the', 'code', 'is', '4211']],
  ['Postgres 14.2, not 14.20!', ['postgres', '14.2', 'not', '14.20']],
  ['see /etc/app.conf and ~/notes.md', ['see', '/etc/app.conf', 'and', '~/notes.md']],
  ["Zoë’s café doesn't open", ['zoë', 'café', 'does', 'not', 'open']],
  ['(before: 1,200 EUR) – “now” 900€', ['before', '1200', 'eur', 'now', '900']],
  ['due 2024-05-08; at 09:30', ['due', '2024-05-08', 'at', '09:30']],
  ['lark-scan … .env', ['lark-scan', '.env']],
])('%s', (text, tokens) => {
  expect(tokenise(text)).toEqual(tokens);
});

test('a phrase is a run of whole tokens', () => {
  const tokens = tokenise('code 42110, then code 4211');
  expect(phraseSpans(tokens, ['code', '4211'])).toEqual([[3, 5]]);
  expect(phraseSpans(tokens, ['421'])).toEqual([]);
});

test('stems join the forms of a word and leave numbers alone', () => {
  for (const forms of [
    ['live', 'lives', 'living', 'lived'],
    ['run', 'runs', 'running'],
    ['allergy', 'allergies'],
    ['call', 'calls', 'calling', 'called'],
  ]) {
    expect(new Set(forms.map(stem)).size, forms.join(' ')).toBe(1);
  }
  expect(stem('2023')).toBe('2023');
});

test('content words leave grammar and question words out', () => {
  expect(contentStems('What is the colour of the cat, please?')).toEqual(
    ['colour', 'cat'].map(stem),
  );
});
