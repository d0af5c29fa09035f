/** orm[t]: credit to a chunk whose gold facts an answer recovered (definitions §5). */
import type { Half, Question } from '../core/exam.ts';
import { meanTerm, type Scores, type Term } from './prm.ts';

/** ρ(q, ·) by gold fact id, by question id; a question removed by an item fault is missing. */
export type Credits = ReadonlyMap<string, Readonly<Record<string, Half>>>;

/** c(q,t) = Σ ω_f ρ(q,f) / Σ ω_f over F_t(q), the gold facts of q with source t; undefined when F_t(q) is empty. */
export function chunkCredit(
  question: Question,
  chunkId: string,
  credits: Readonly<Record<string, Half>>,
): number | undefined {
  const facts = question.goldFacts.filter((fact) => fact.chunkId === chunkId);
  if (facts.length === 0) return undefined;
  let earned = 0;
  let possible = 0;
  for (const { id, weight } of facts) {
    const credit = credits[id];
    if (credit === undefined) {
      throw new Error(`question ${question.id}: no credit for gold fact ${id}`);
    }
    earned += weight * credit;
    possible += weight;
  }
  return earned / possible;
}

/** The mean of c(q,t) over the questions with F_t(q) ≠ ∅: several chunks cited give independent credits. */
export function outcomeTerm(
  questions: readonly Question[],
  chunkId: string,
  credits: Credits,
): Term {
  const citing = questions.filter(({ goldFacts }) =>
    goldFacts.some((fact) => fact.chunkId === chunkId),
  );
  return meanTerm(
    citing.map((question) => {
      const recovered = credits.get(question.id);
      return recovered && chunkCredit(question, chunkId, recovered);
    }),
  );
}

/** Arm `broadcast-orm`: the mean rubric score over all questions, the same for every chunk of the window. */
export function broadcastTerm(questions: readonly Question[], scores: Scores): Term {
  return meanTerm(questions.map(({ id }) => scores.get(id)));
}
