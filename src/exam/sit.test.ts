/** Three hops: what is asked, what is saved, and what a failing hop leaves behind. */
import { expect, test } from 'vitest';
import type { ExamItem } from '../core/exam.ts';
import { FaultError } from '../core/outcome.ts';
import { createPool } from '../lib/pool.ts';
import { aProbe, aQuestion } from '../testing/trace-builders.ts';
import { createExamCache } from './cache.ts';
import type { Judge, Reader, Retrievable } from './contract.ts';
import { type Examiners, sitExam } from './sit.ts';

const bank: Retrievable = { retrieve: async (question) => `block of ${question}` };

/** A reader that echoes the block and a judge that is always content; both count. */
function examiners(overrides: Partial<Examiners> = {}) {
  const calls = { reader: 0, judge: 0 };
  const reader: Reader = {
    name: 'echo',
    answer: async (_question, block) => {
      calls.reader += 1;
      return block;
    },
  };
  const judge: Judge = {
    name: 'content',
    grade: async (item) => {
      calls.judge += 1;
      const credits = item.kind === 'question' ? item.goldFacts.map(({ id }) => [id, 0.5]) : [];
      return { verdicts: { k: 1 }, credits: Object.fromEntries(credits) };
    },
  };
  const cache = createExamCache();
  return { calls, cache, deps: { reader, judge, cache, pool: createPool(4), ...overrides } };
}

test('every item has one result, in order', async () => {
  const items: ExamItem[] = [
    aProbe('p', 'c'),
    aProbe('t', 'c', 'trap'),
    aQuestion('q', [['f', 'c', 1]]),
  ];
  const results = await sitExam(items, bank, examiners().deps);
  expect(results).toEqual([
    { itemId: 'p', answer: 'block of p?', result: { kind: 'graded', score: 1, credits: {} } },
    { itemId: 't', answer: 'block of t?', result: { kind: 'graded', score: 1, credits: {} } },
    {
      itemId: 'q',
      answer: 'block of q?',
      result: { kind: 'graded', score: 1, credits: { f: 0.5 } },
    },
  ]);
});

test('identical pairs are answered and graded once, also when asked at the same time', async () => {
  const { calls, cache, deps } = examiners();
  const items = [aProbe('p', 'c')];
  await Promise.all([sitExam(items, bank, deps), sitExam(items, bank, deps)]);
  await sitExam(items, bank, deps);
  expect(calls).toEqual({ reader: 1, judge: 1 });
  expect(cache.counts()).toEqual({
    answers: { asked: 3, saved: 2 },
    grades: { asked: 3, saved: 2 },
  });
});

test('another block is another question to the reader', async () => {
  const { calls, deps } = examiners();
  const other: Retrievable = { retrieve: async () => 'another bank' };
  await sitExam([aProbe('p', 'c')], bank, deps);
  await sitExam([aProbe('p', 'c')], other, deps);
  expect(calls).toEqual({ reader: 2, judge: 2 });
});

test.each(['retriever', 'reader', 'judge'] as const)(
  'a fault of the %s is an item fault, never a score, and is not kept',
  async (boundary) => {
    let failures = 1;
    const fail = (): void => {
      if (failures-- > 0) throw new FaultError(boundary, 'HTTP 429');
    };
    const { deps: healthy } = examiners();
    const flaky = {
      ...healthy,
      reader: {
        ...healthy.reader,
        answer: async (question: string, block: string) => {
          if (boundary === 'reader') fail();
          return healthy.reader.answer(question, block);
        },
      },
      judge: {
        ...healthy.judge,
        grade: async (item: ExamItem, answer: string) => {
          if (boundary === 'judge') fail();
          return healthy.judge.grade(item, answer);
        },
      },
    };
    const retrievable: Retrievable = {
      retrieve: async (question) => {
        if (boundary === 'retriever') fail();
        return bank.retrieve(question);
      },
    };
    const [first] = await sitExam([aProbe('p', 'c')], retrievable, flaky);
    expect(first?.result).toEqual({ kind: 'fault', boundary, message: 'HTTP 429' });
    const [second] = await sitExam([aProbe('p', 'c')], retrievable, flaky);
    expect(second?.result.kind).toBe('graded');
  },
);

test('what is not a fault is a bug and passes through', async () => {
  const { deps } = examiners();
  const broken: Retrievable = { retrieve: () => Promise.reject(new TypeError('bug')) };
  await expect(sitExam([aProbe('p', 'c')], broken, deps)).rejects.toThrow(TypeError);
});

test('an empty answer is 0 for recall, trap and every gold fact, without asking the judge', async () => {
  const { calls, deps } = examiners();
  const silent = { ...deps, reader: { name: 'silent', answer: async () => ' \n' } };
  const items = [aProbe('p', 'c'), aProbe('t', 'c', 'trap'), aQuestion('q', [['f', 'c', 1]])];
  const results = await sitExam(items, bank, silent);
  expect(results.map(({ result }) => result)).toEqual([
    { kind: 'graded', score: 0, credits: {} },
    { kind: 'graded', score: 0, credits: {} },
    { kind: 'graded', score: 0, credits: { f: 0 } },
  ]);
  expect(calls.judge).toBe(0);
});

test('questions are retrieved at the same time: a bank bounds itself', async () => {
  const { deps } = examiners();
  let open = 0;
  let most = 0;
  const watched: Retrievable = {
    retrieve: async (question) => {
      most = Math.max(most, ++open);
      await Promise.resolve();
      open -= 1;
      return question;
    },
  };
  await sitExam([aProbe('a', 'c'), aProbe('b', 'c')], watched, deps);
  expect(most).toBe(2);
});

test('an abort ends the exam and is no fault', async () => {
  const { deps } = examiners({ signal: AbortSignal.abort(new Error('stopped')) });
  await expect(sitExam([aProbe('p', 'c')], bank, deps)).rejects.toThrow('stopped');
});
