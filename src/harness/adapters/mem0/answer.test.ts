/** What counts as malformed, reason by reason; the same answers meet the live SDK in the end-to-end tests. */
import { expect, test } from 'vitest';
import { mem0ExtractStage as stage } from './stage.ts';
import { ANSWER_CASES } from './testing/answer-cases.ts';
import { loadSdkSource } from './testing/sdk-source.ts';

const request = loadSdkSource().request({
  lastKMessages: [],
  existingMemories: [{ id: '0', text: 'offered' }],
  newMessages: 'user: hi',
  currentDate: '2024-05-08',
});

test.each(ANSWER_CASES)('$name', ({ answer, reasons, adds }) => {
  const verdict = stage.check(answer, request);
  if (reasons.length > 0) return expect(verdict).toEqual({ kind: 'malformed', reasons });
  if (verdict.kind !== 'well-formed') throw new Error(`malformed: ${verdict.reasons}`);
  expect(verdict.operations.filter(({ kind }) => kind === 'add')).toEqual(
    adds.map((text) => ({ kind: 'add', text })),
  );
});

test('what cannot be stored is not composed', () => {
  expect(() => stage.compose(['a', ''])).toThrow('cannot store');
  expect(() => stage.compose(['__proto__'])).toThrow('cannot store');
});
