/** A teacher's failure on a segment is a teacher fault at each of its positions: masked and counted, never a gradient. */
import { FaultError } from '../core/outcome.ts';
import type { TopK } from '../core/policy.ts';
import type { Teacher } from '../engine/contract.ts';
import { checkTopK } from './tripwires.ts';

export interface Question {
  readonly tokenIds: readonly number[];
  /** Index of the first response token. */
  readonly from: number;
  readonly k: number;
}

/** One entry a response position. What is no `FaultError` is a bug or a tripwire, and passes through. */
export async function askTeacher(
  teacher: Teacher,
  { tokenIds, from, k }: Question,
): Promise<(TopK | undefined)[]> {
  const positions = tokenIds.length - from;
  const { vocabularySize } = teacher;
  try {
    return checkTopK(await teacher.topK(tokenIds, from, k), { k, vocabularySize, positions });
  } catch (cause) {
    if (!(cause instanceof FaultError)) throw cause;
    return Array<undefined>(positions).fill(undefined);
  }
}
