/** Which phrases a rule judge is told to look for. */
import { expect, test } from 'vitest';
import { answerKey, answerParts, phrasesIn, wordKey } from './answer-key.ts';

test.each([
  ['Kickboxing, Taekwondo', ['Kickboxing', 'Taekwondo']],
  ['A doll, a film camera', ['doll', 'film camera']],
  ['a pear, an orange; and the kiwi.', ['pear', 'orange', 'kiwi']],
  ['"Inception"', ['Inception']],
  ['19 January, 2023', ['19 January, 2023']],
  ['1,250 euros', ['1,250 euros']],
  ['Discouraged but determined', ['Discouraged', 'determined']],
  ['...', ['...']],
])('the parts of %j', (answer, parts) => {
  expect(answerParts(answer)).toEqual(parts);
});

test('a short part is a phrase, a long one its content words, once each', () => {
  expect(answerKey('turtles').all).toEqual(['turtles']);
  expect(answerKey('They lost their jobs and started the firms they lost jobs for').all).toEqual([
    'lost',
    'jobs',
    'started',
    'firms',
  ]);
});

test('negation is content', () => {
  expect(answerKey('Somewhat, but not extremely religious').all).toContain(
    'not extremely religious',
  );
  expect(wordKey('she does not eat meat on Fridays').all).toContain('not');
});

test('a date is its words: they come in many orders; May is a month and before is not after', () => {
  expect(wordKey('7 May 2023').all).toEqual(['7', 'May', '2023']);
  expect(wordKey('The sunday before 25 May 2023').all).toContain('before');
});

test('a key is never empty, also where everything is a function word', () => {
  expect(answerKey('They').all).toEqual(['They']);
  expect(wordKey('so it was').all).toEqual(['so', 'it', 'was']);
  expect(wordKey('???').all).toEqual(['???']);
});

test('phrases are found as whole words, whatever their case', () => {
  const key = answerKey('Kickboxing, art, 2');
  expect(phrasesIn(key, 'John: I started kickboxing in 2022!')).toEqual(['Kickboxing']);
});
