/** Answers of Mem0's Python SDKs: whole, or malformed for a reason; what a write of two calls asks for. */
import { expect, test } from 'vitest';
import type { CheckedCall } from '../../../core/stage.ts';
import { checkExtract } from './stage-2x.ts';
import { checkUpdate, effectOf1x, factsStage } from './stages-1x.ts';

const prompt = { existingMemories: [{ id: '0', text: 'Lives in Oslo' }] };
const memory = (...members: readonly object[]): string => JSON.stringify({ memory: members });
const add = { id: '1', text: 'Has a cat', event: 'ADD' };
const update = { id: '0', text: 'Lives in Bergen', event: 'UPDATE', old_memory: 'Lives in Oslo' };

test('an update is what each entry asks for', () => {
  const answer = memory(add, update);
  expect(checkUpdate(answer, prompt)).toEqual({
    kind: 'well-formed',
    operations: [
      { kind: 'add', text: 'Has a cat' },
      { kind: 'update', id: '0', text: 'Lives in Bergen' },
    ],
  });
  const rest = memory({ ...update, event: 'NONE' });
  expect(checkUpdate(rest, prompt)).toMatchObject({ operations: [{ kind: 'none' }] });
  const removal = memory({ ...update, event: 'DELETE' });
  expect(checkUpdate(removal, prompt)).toMatchObject({ operations: [{ kind: 'remove', id: '0' }] });
});

test.each([
  ['an id that was not offered', memory({ ...update, id: '7' }), 'unknown-id'],
  ['one id twice', memory(update, { ...update, event: 'DELETE' }), 'schema-invalid'],
  ['an entry without a text', memory({ id: '0', event: 'DELETE' }), 'missing-field'],
  ['an empty text', memory({ ...add, text: '' }), 'schema-invalid'],
  ['an event in lower case', memory({ ...add, event: 'add' }), 'unknown-operation'],
  ['a number for an id', memory({ ...update, id: 0 }), 'schema-invalid'],
  ['another key', JSON.stringify({ memories: [] }), 'missing-field'],
  ['a list', '[]', 'schema-invalid'],
  ['prose', 'ok', 'unparsable'],
  ['nothing', ' ', 'empty-completion'],
])('%s', (_name, answer, reason) => {
  const verdict = checkUpdate(answer, prompt);
  expect(verdict).toMatchObject({ kind: 'malformed' });
  expect(verdict.kind === 'malformed' && verdict.reasons).toContain(reason);
});

test('facts are strings; objects and numbers, which the SDK coerces, are not', () => {
  expect(factsStage.check('{"facts":["a"]}', []).kind).toBe('well-formed');
  for (const facts of ['[{"fact":"a"}]', '[1]', '[""]', '"a"']) {
    expect(factsStage.check(`{"facts":${facts}}`, []).kind).toBe('malformed');
  }
});

test('facts that never came to a decision are a failed write', () => {
  const facts: CheckedCall = {
    stage: 'facts',
    answer: '{"facts":["Has a cat"]}',
    messages: [],
    operations: [],
    offered: [],
  };
  expect(() => effectOf1x([facts])).toThrow('1 of 1 facts never came to a decision');
  expect(effectOf1x([{ ...facts, answer: '{"facts":[]}' }])).toEqual({
    requests: [],
    optional: [],
  });
});

test('2.x adds, and an operation in an answer is not one of its words', () => {
  const stored = { text: 'Has a cat', attributed_to: 'user' };
  expect(checkExtract(memory(stored), prompt)).toEqual({
    kind: 'well-formed',
    operations: [{ kind: 'add', text: 'Has a cat' }],
  });
  expect(checkExtract(memory({ text: 'Lives in Oslo' }), prompt)).toMatchObject({
    operations: [{ kind: 'none' }],
  });
  for (const bad of [{ ...stored, event: 'UPDATE' }, { attributed_to: 'user' }, 'a string']) {
    expect(checkExtract(JSON.stringify({ memory: [bad] }), prompt).kind).toBe('malformed');
  }
  const linked = memory({ ...stored, linked_memory_ids: ['9'] });
  expect(checkExtract(linked, prompt)).toEqual({ kind: 'malformed', reasons: ['unknown-id'] });
});
