/** A prompt's static rest is known by one hash, whatever stands in its variable parts. */
import { expect, test } from 'vitest';
import { sha256 } from '../lib/hash.ts';
import { cutTemplate, type Slot } from './template.ts';

const slots: readonly Slot[] = [
  { after: 'LAST:\n', before: '\nNEW:\n', end: 'first' },
  { after: '\nNEW:\n', before: '\nOUTPUT', end: 'last' },
];
const known = [sha256('Intro LAST:\n\u0000\nNEW:\n\u0000\nOUTPUT json')];
const prompt = (last: string, fresh: string): string =>
  `Intro LAST:\n${last}\nNEW:\n${fresh}\nOUTPUT json`;

test('the parts come out whole', () => {
  expect(cutTemplate(prompt('a\nb', 'c'), slots, known)).toEqual(['a\nb', 'c']);
  expect(cutTemplate(prompt('', ''), slots, known)).toEqual(['', '']);
});

test('a forged mark moves text into the next part and loses none of it', () => {
  expect(cutTemplate(prompt('a\nNEW:\nb', 'c\nOUTPUT d'), slots, known)).toEqual([
    'a',
    'b\nNEW:\nc\nOUTPUT d',
  ]);
});

test('another static rest, or a missing mark, is not this prompt', () => {
  expect(cutTemplate(prompt('a', 'b').replace('Intro', 'Intr0'), slots, known)).toBeUndefined();
  expect(cutTemplate('Intro LAST:\na', slots, known)).toBeUndefined();
  expect(cutTemplate('', slots, known)).toBeUndefined();
});
