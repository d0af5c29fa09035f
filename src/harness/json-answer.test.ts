/** One JSON value and nothing that a framework would cut out of it. */
import { expect, test } from 'vitest';
import { composeJson, readJsonAnswer } from './json-answer.ts';

test.each([
  ['bare', '{"a":1}'],
  ['in a fence', '```json\n{"a":1}\n```'],
  ['after a thought', '<think>let me see</think>\n{"a":1}'],
])('%s', (_name, answer) => {
  expect(readJsonAnswer(answer)).toEqual({ kind: 'value', value: { a: 1 } });
});

test.each([
  ['nothing', ' \n', 'empty-completion'],
  ['prose around it', 'Sure: {"a":1}', 'unparsable'],
  ['two values', '{"a":1}{"a":2}', 'unparsable'],
  ['a repeated key', '{"a":"x","a":"y"}', 'schema-invalid'],
  ['a thought inside of a string', '{"a":"wrap <think>secret</think> tags"}', 'schema-invalid'],
  ['a thought over two strings', '["opens <think> only","closes </think> here"]', 'schema-invalid'],
  ['a fence inside of a string', '{"a":"use ```sh``` here"}', 'schema-invalid'],
])('%s is malformed', (_name, answer, reason) => {
  expect(readJsonAnswer(answer)).toEqual({ kind: 'malformed', reason });
});

test('whatever a text holds, a composed answer carries it whole', () => {
  const value = ['<think>x</think>', '```json', '</think>', 'plain'];
  expect(readJsonAnswer(composeJson(value))).toEqual({ kind: 'value', value });
});
