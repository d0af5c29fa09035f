/** MemOS takes an item whole or drops it without a word: only what it takes whole is well formed. */
import { expect, test } from 'vitest';
import { checkMemos, memosExtractStage } from './stage.ts';

const prompt = { time: '2024-05-08T20:15:00+02:00' };
const item = { key: 'home', memory_type: 'UserMemory', value: 'Lives in Oslo', tags: ['home'] };
const answer = (members: readonly unknown[], more: object = { summary: 's' }): string =>
  JSON.stringify({ 'memory list': members, ...more });

test('each item is one memory', () => {
  expect(checkMemos(answer([item, item]), prompt)).toEqual({
    kind: 'well-formed',
    operations: [
      { kind: 'add', text: 'Lives in Oslo' },
      { kind: 'add', text: 'Lives in Oslo' },
    ],
  });
  expect(checkMemos(answer([]), prompt)).toEqual({ kind: 'well-formed', operations: [] });
});

test.each([
  ['an unknown type', answer([{ ...item, memory_type: 'OtherMemory' }])],
  ['tags that are no list', answer([{ ...item, tags: 'home' }])],
  ['no value, which would be stored empty', answer([{ ...item, value: undefined }])],
  ['an item that is no object', answer(['Lives in Oslo'])],
  ['a summary that is no text, which drops all', answer([item], { summary: [] })],
  ['no summary', answer([item], {})],
  ['a memory beside the list', answer([], { summary: 's', key: 'k', value: 'v' })],
  ['a line copied from the transcript', answer([{ ...item, value: `user: [${prompt.time}]: hi` }])],
])('%s is malformed', (_name, text) => {
  expect(checkMemos(text, prompt).kind).toBe('malformed');
});

test('what is composed is taken, whatever the texts hold', () => {
  const texts = ['```json', '<think>x</think>', '"quoted" {braces}', '🐱'];
  expect(checkMemos(memosExtractStage.compose(texts), prompt)).toEqual({
    kind: 'well-formed',
    operations: texts.map((text) => ({ kind: 'add', text })),
  });
});
