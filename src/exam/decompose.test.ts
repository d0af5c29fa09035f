/** Each hop that can lose a fact is named. */
import { expect, test } from 'vitest';
import type { ChatMessage } from '../core/chat.ts';
import type { Stage } from '../core/stage.ts';
import { controlReplies } from './controls.ts';
import { type FailedItem, failureCause, trapFailureCause } from './decompose.ts';
import { NO_RECORD } from './no-record.ts';

const memory = { id: '1', text: 'door code is 4211', store: 'memory' };
const failed: FailedItem = {
  key: { all: ['4211'], none: [] },
  ops: [],
  listing: [memory],
  block: memory.text,
  answer: memory.text,
};

test.each([
  ['never-written', { listing: [], ops: [] }],
  ['never-written', { listing: [{ ...memory, text: 'door code is 42110' }] }],
  ['overwritten', { listing: [], ops: [{ kind: 'add', id: '1', text: memory.text }] }],
  [
    'overwritten',
    {
      listing: [{ ...memory, text: 'door has a code' }],
      ops: [{ kind: 'update', id: '1', before: memory.text, after: 'door has a code' }],
    },
  ],
  ['not-retrieved', { block: 'door has a code' }],
  ['misread', { answer: NO_RECORD }],
  ['misjudged', {}],
] as const)('%s', (cause, change) => {
  expect(failureCause({ ...failed, ...change })).toBe(cause);
});

test('a failed trap was stored, or made up by a reader', () => {
  expect(trapFailureCause(failed.key, [memory])).toBe('stored');
  expect(trapFailureCause(failed.key, [])).toBe('invented');
});

test('the control writers store nothing, and every message as it was said', () => {
  const stage: Stage = {
    name: 'extract',
    recognise: () => true,
    read: (messages) => ({
      newMessages: messages.map(({ content }) => content),
      existingMemories: [],
    }),
    view: (messages) => messages,
    check: () => ({ kind: 'well-formed', operations: [] }),
    compose: (texts) => JSON.stringify({ facts: texts }),
  };
  const messages: ChatMessage[] = [{ role: 'user', content: 'user: my cat is Miso' }];
  expect(controlReplies.empty(stage, messages)).toBe('{"facts":[]}');
  expect(controlReplies.verbatim(stage, messages)).toBe('{"facts":["user: my cat is Miso"]}');
});
