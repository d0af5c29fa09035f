/** Three hops: a block is retrieved, the reader answers from the block alone, the judge grades the answer. */
import type { ExamItem, Half } from '../core/exam.ts';

export interface Retrievable {
  /** The block for one question. Must not change what it reads from; calls may overlap. */
  retrieve(question: string): Promise<string>;
}

export interface Reader {
  /** Identity for caches and manifests. */
  readonly name: string;
  /** Sees question and block only. Rejects with a `FaultError` of boundary `reader`. */
  answer(question: string, block: string): Promise<string>;
}

export interface Grade {
  /** m_k by criterion id, for every criterion of the rubric. For a trap: one entry, 1 iff the trap is refused. */
  readonly verdicts: Readonly<Record<string, Half>>;
  /** ρ(q, f) by gold fact id, for every gold fact of a cross-chunk question; empty otherwise. */
  readonly credits: Readonly<Record<string, Half>>;
}

export interface Judge {
  readonly name: string;
  /** Sees question, reference, rubric and answer only; never bank, block or rollout. Rejects with boundary `judge`. */
  grade(item: ExamItem, answer: string): Promise<Grade>;
}
