/** One exam: every item is retrieved for, answered and graded, or is an item fault (definitions §4). */
import type { ExamItem, ItemResult } from '../core/exam.ts';
import { itemScore } from '../core/grade.ts';
import { FaultError } from '../core/outcome.ts';
import { mapAll, type Pool } from '../lib/pool.ts';
import type { ExamCache } from './cache.ts';
import type { Grade, Judge, Reader, Retrievable } from './contract.ts';

export interface Examiners {
  readonly reader: Reader;
  readonly judge: Judge;
  readonly cache: ExamCache;
  /** Bounds how many items are read and judged at once. */
  readonly pool: Pool;
  readonly signal?: AbortSignal;
}

/**
 * One result an item, in order; each question is retrieved once, all at the same time: a bank bounds itself. A
 * `FaultError` of any hop is the item's result; whatever else is thrown is a bug, or the abort, and passes through.
 */
export async function sitExam(
  items: readonly ExamItem[],
  bank: Retrievable,
  examiners: Examiners,
): Promise<ItemResult[]> {
  const blocks = await retrieveBlocks(items, bank, examiners.signal);
  return mapAll(items, (item) =>
    examiners.pool.run(async (): Promise<ItemResult> => {
      examiners.signal?.throwIfAborted();
      const block = blocks.get(item.question);
      if (block === undefined) throw new Error(`exam: no block for item ${item.id}`);
      if (block instanceof FaultError) return { itemId: item.id, result: block.toFault() };
      const result = await examine(item, block, examiners);
      // A client that was stopped reports a fault; that is no fault of the item.
      examiners.signal?.throwIfAborted();
      return result;
    }),
  );
}

type Block = string | FaultError;

async function retrieveBlocks(
  items: readonly ExamItem[],
  bank: Retrievable,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Block>> {
  const questions = [...new Set(items.map(({ question }) => question))];
  return new Map(
    await mapAll(questions, async (question): Promise<[string, Block]> => {
      signal?.throwIfAborted();
      return [question, await faultOr(() => bank.retrieve(question))];
    }),
  );
}

async function examine(
  item: ExamItem,
  block: string,
  { reader, judge, cache }: Examiners,
): Promise<ItemResult> {
  const { id: itemId, question } = item;
  const answer = await faultOr(() =>
    cache.answer([reader.name, question, block], () => reader.answer(question, block)),
  );
  if (answer instanceof FaultError) return { itemId, result: answer.toFault() };
  if (answer.trim() === '') return { itemId, answer, result: emptyAnswer(item) };
  const grade = await faultOr(() =>
    cache.grade([judge.name, item, answer], () => judge.grade(item, answer)),
  );
  if (grade instanceof FaultError) return { itemId, answer, result: grade.toFault() };
  const score = itemScore(item, grade.verdicts);
  return { itemId, answer, result: { kind: 'graded', score, credits: creditsOf(item, grade) } };
}

/** An empty answer is 0 for recall and for traps alike: it does not even say that there is no record. */
function emptyAnswer(item: ExamItem): ItemResult['result'] {
  const facts = item.kind === 'question' ? item.goldFacts : [];
  return {
    kind: 'graded',
    score: 0,
    credits: Object.fromEntries(facts.map(({ id }) => [id, 0 as const])),
  };
}

function creditsOf(item: ExamItem, { credits }: Grade): Grade['credits'] {
  if (item.kind !== 'question') return {};
  return Object.fromEntries(
    item.goldFacts.map(({ id }) => {
      const credit = credits[id];
      if (credit === undefined) throw new Error(`question ${item.id}: no credit for fact ${id}`);
      return [id, credit];
    }),
  );
}

async function faultOr<T>(run: () => Promise<T>): Promise<T | FaultError> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof FaultError) return error;
    throw error;
  }
}
