/** The embedded judge: rules over question, reference, rubric and answer, and nothing else (definitions §4-5). */
import type { Criterion, ExamItem, GoldFact, Half, Question, TrapProbe } from '../core/exam.ts';
import type { Grade, Judge } from './contract.ts';
import { matchKey, matchReference, mentions, type OverlapThresholds } from './key-match.ts';
import { assertedText, hedges, saysNoRecord } from './no-record.ts';
import { sentences } from './text.ts';

/** A criterion without key: the reference's content words, all of them or half. */
const REFERENCE: OverlapThresholds = { full: 1, half: 0.5 };
/** A gold fact without key is a sentence: the answer may phrase it in other words. */
const GOLD_FACT: OverlapThresholds = { full: 0.8, half: 0.5 };

/** What an answer says outside "there is no record" is what it asserts; an empty answer asserts and refuses nothing. */
export function createRuleJudge(): Judge {
  return {
    name: 'rule-judge/1',
    grade: (item, answer) => Promise.resolve(gradeByRule(item, answer)),
  };
}

export function gradeByRule(item: ExamItem, answer: string): Grade {
  const asserted = assertedText(answer);
  switch (item.kind) {
    case 'trap':
      return { verdicts: { [item.id]: trapVerdict(item, answer, asserted) }, credits: {} };
    case 'recall':
      return { verdicts: verdictsOf(item, asserted), credits: {} };
    case 'question':
      return { verdicts: verdictsOf(item, asserted), credits: creditsOf(item, asserted) };
    default:
      throw new Error(`unknown item ${item satisfies never}`);
  }
}

/** 1 iff the answer says that there is no record, does not hedge and does not assert the trapped content. */
function trapVerdict(trap: TrapProbe, answer: string, asserted: string): 0 | 1 {
  const refuses = sentences(answer).some(saysNoRecord);
  if (!refuses || hedges(answer)) return 0;
  const asserts = trap.trapped ? mentions(asserted, trap.trapped) : asserted.trim() !== '';
  return asserts ? 0 : 1;
}

function verdictsOf(item: ExamItem, asserted: string): Record<string, Half> {
  return Object.fromEntries(
    item.rubric.map((criterion) => [criterion.id, verdict(criterion, item, asserted)]),
  );
}

function verdict({ key }: Criterion, { reference }: ExamItem, asserted: string): Half {
  if (asserted === '') return 0;
  return key ? matchKey(asserted, key) : matchReference(asserted, reference, REFERENCE);
}

function creditsOf({ goldFacts }: Question, asserted: string): Record<string, Half> {
  return Object.fromEntries(goldFacts.map((fact) => [fact.id, credit(fact, asserted)]));
}

function credit({ key, text }: GoldFact, asserted: string): Half {
  if (asserted === '') return 0;
  return key ? matchKey(asserted, key) : matchReference(asserted, text, GOLD_FACT);
}
