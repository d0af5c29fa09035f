/** The rule reader answers from the block, and says so when the block does not have it. */
import { expect, test } from 'vitest';
import { NO_RECORD } from './no-record.ts';
import { answerByRule, createRuleReader } from './rule-reader.ts';

const block = [
  "2024-05-08: user's cat is called Miso",
  "2024-05-08: user's manager is Ida Kern",
  '2024-05-09: door code is 4211',
  '2024-05-09: postgres version is 14.2',
  '2024-05-10: node version is 20.1',
  '2024-05-11: user does not eat fish',
  "2024-05-12: user's rent is 850 EUR",
  "2024-05-20: user's rent is 900 EUR, before it was 850 EUR",
  '2024-05-21: project Lark has its config in /srv/lark/app.toml',
].join('\n');

test.each([
  ['What is the cat called?', "user's cat is called Miso"],
  ['Who is the manager?', "user's manager is Ida Kern"],
  ['What is the door code?', 'door code is 4211'],
  ['Which postgres version is it?', 'postgres version is 14.2'],
  ['What does the user eat or not?', 'user does not eat fish'],
  ['Where is the config of Lark?', 'project Lark has its config in /srv/lark/app.toml'],
])('%s', (question, answer) => {
  expect(answerByRule(question, block)).toBe(answer);
});

test.each([
  'What is the dog called?',
  'What is the wifi password?',
  'Which firmware version is it?',
  'How is the weather?',
  'Which shell command did the user run?',
])('no record: %s', (question) => {
  expect(answerByRule(question, block)).toBe(NO_RECORD);
});

test('"notes" is a topic, though its stem looks like "not"', () => {
  const files = 'log file is a.txt\nconfig file is b.txt\nnotes file is c.txt';
  expect(answerByRule('What is the notes file now?', files)).toBe('notes file is c.txt');
});

test('an empty block, or a question without a topic, has no answer', () => {
  expect(answerByRule('What is the cat called?', '')).toBe(NO_RECORD);
  expect(answerByRule('What is it?', block)).toBe(NO_RECORD);
});

test('a transition gets every line about it, in block order', () => {
  expect(answerByRule('How high was the rent before and now?', block)).toBe(
    "user's rent is 850 EUR\nuser's rent is 900 EUR, before it was 850 EUR",
  );
});

test('a question in two parts gets both', () => {
  expect(answerByRule('Who is the manager and what is the door code?', block)).toBe(
    "user's manager is Ida Kern\ndoor code is 4211",
  );
});

test('the date that a framework puts before a memory is no part of the answer', () => {
  expect(answerByRule('When did the cat arrive?', '2024-05-08: cat will arrive tomorrow')).toBe(
    'cat will arrive tomorrow',
  );
});

test('at most three lines a part, so that the whole block is never the answer', () => {
  const many = Array.from({ length: 9 }, (_, i) => `2024-05-08: the cat is cat ${i}`).join('\n');
  expect(answerByRule('What is the cat called?', many).split('\n')).toHaveLength(3);
});

test('its identity carries its options', () => {
  expect(createRuleReader({ maxLines: 1 }).name).not.toBe(createRuleReader().name);
});
