/** A replayed write gets the recorded answers, whatever ids the framework made up this time. */
import { expect, test } from 'vitest';
import type { ChatMessage } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import { keepStage } from '../testing/keep-stage.ts';
import { aCall } from '../testing/trace-builders.ts';
import { replyFrom } from './replay.ts';

type Memory = readonly [id: string, text: string];

function asks(messages: readonly string[], memories: readonly Memory[]): ChatMessage[] {
  const existing = memories.map(([id, text]) => ({ id, text }));
  return [{ role: 'user', content: `${JSON.stringify({ existing, messages })}` }];
}

const stage = {
  ...keepStage,
  read: ([first]: readonly ChatMessage[]) => {
    const { existing, messages } = JSON.parse(first?.content ?? '');
    return { existingMemories: existing, newMessages: messages };
  },
};

function recorded(text: string, messages: readonly ChatMessage[]) {
  return aCall({ stage: stage.name, messages: [...messages], text });
}

test('ids of the recorded bank become those of the new one, matched by the text behind them', () => {
  const before = asks(
    ['hi'],
    [
      ['aaa', 'tea'],
      ['bbb', 'dogs'],
    ],
  );
  const reply = replyFrom([recorded('update bbb, drop aaa', before)], [stage]);
  expect(
    reply(
      stage,
      asks(
        ['hi'],
        [
          ['ccc', 'dogs'],
          ['ddd', 'tea'],
        ],
      ),
    ),
  ).toBe('update ccc, drop ddd');
});

test('ids that swapped places are renamed at once, not one after the other', () => {
  const reply = replyFrom(
    [
      recorded(
        'a0 b1',
        asks(
          [],
          [
            ['a0', 'x'],
            ['b1', 'y'],
          ],
        ),
      ),
    ],
    [stage],
  );
  expect(
    reply(
      stage,
      asks(
        [],
        [
          ['b1', 'x'],
          ['a0', 'y'],
        ],
      ),
    ),
  ).toBe('b1 a0');
});

test('the same question twice gets its answers in their order; a third time, or another question, is a fault', () => {
  const question = asks(['hi'], []);
  const reply = replyFrom([recorded('first', question), recorded('second', question)], [stage]);
  expect([reply(stage, question), reply(stage, question)]).toEqual(['first', 'second']);
  expect(() => reply(stage, question)).toThrow(FaultError);
  expect(() => reply(stage, asks(['ho'], []))).toThrow('asked anew');
});
