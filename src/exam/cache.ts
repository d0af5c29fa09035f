/** Identical work is done once: the same question on the same block, the same answer to the same item. */
import { hashJson } from '../lib/hash.ts';
import type { Grade } from './contract.ts';

export interface Counts {
  /** Times an answer or a grade was needed. */
  readonly asked: number;
  /** Times it was already there, or on its way. */
  readonly saved: number;
}

export interface ExamCounts {
  readonly answers: Counts;
  readonly grades: Counts;
}

export interface ExamCache {
  answer(key: unknown, ask: () => Promise<string>): Promise<string>;
  grade(key: unknown, ask: () => Promise<Grade>): Promise<Grade>;
  /** Since this cache was made. */
  counts(): ExamCounts;
}

/** Concurrent askers of one key join; a failure reaches all that joined and is not kept. */
export function createExamCache(): ExamCache {
  const answers = createJoin<string>();
  const grades = createJoin<Grade>();
  return {
    answer: answers.ask,
    grade: grades.ask,
    counts: () => ({ answers: answers.counts(), grades: grades.counts() }),
  };
}

function createJoin<T>(): {
  ask(key: unknown, run: () => Promise<T>): Promise<T>;
  counts(): Counts;
} {
  const kept = new Map<string, Promise<T>>();
  let asked = 0;
  let saved = 0;
  return {
    ask: (key, run) => {
      const hash = hashJson(key);
      asked += 1;
      const known = kept.get(hash);
      if (known !== undefined) {
        saved += 1;
        return known;
      }
      const pending = run().catch((error: unknown) => {
        kept.delete(hash);
        throw error;
      });
      kept.set(hash, pending);
      return pending;
    },
    counts: () => ({ asked, saved }),
  };
}
