/** When an answer says that there is no such record, and when it only hedges (definitions §4). */
import { sentences, tokenise } from './text.ts';

/** The sentence an extractive reader answers with when nothing matches. */
export const NO_RECORD = "I don't know; there is no record of that.";

/** On tokens joined by spaces, contractions expanded. First person or about the record itself, not about the user. */
const NO_RECORD_FORMS: readonly RegExp[] = [
  /\bi (?:really )?(?:do|did) not (?:really )?(?:know|recall|remember)\b/,
  /\bi (?:am|was) not aware\b/,
  /\bi (?:have|do not have|can not find|could not find|found|see) (?:no|any|a|an)? ?(?:such )?(?:record|records|memory|memories|information|mention|data|answer|idea)\b/,
  /\bi (?:can|could) not (?:answer|tell|say)\b/,
  /\bno (?:such )?(?:record|records|memory|memories|information|mention|entry|data|evidence)(?:$| (?:of|about|on|that|for|in|is|was|available|exists|found)\b)/,
  /\b(?:is|are|was|were|has|have|been|it|that) (?:not|never) (?:been )?(?:mentioned|recorded|stated|specified|noted)\b/,
  /\b(?:memory|memories|record|records|notes|context|block|conversation) (?:do|does|did) not (?:say|mention|contain|include|state|specify|record)\b/,
  /^(?:not mentioned|not recorded|not specified|not stated|not known|unknown|nothing|no idea|never mentioned)(?:$| (?:about|on|in|so|that)\b)/,
  /\bnothing (?:is |was )?(?:known|recorded|mentioned|on record)\b/,
  /\b(?:user|you|they|he|she) (?:(?:did|has|have) )?(?:not|never) (?:mention|mentioned|specify|specified)\b/,
];

const HEDGES =
  /\b(?:maybe|perhaps|probably|possibly|presumably|likely|might|may be|could be|i think|i guess|i believe|i suppose|i would guess|it seems|not sure|not certain|unsure)\b/;

function plain(text: string): string {
  return tokenise(text).join(' ');
}

export function saysNoRecord(sentence: string): boolean {
  const text = plain(sentence);
  return NO_RECORD_FORMS.some((form) => form.test(text));
}

export function hedges(answer: string): boolean {
  return HEDGES.test(plain(answer));
}

/** The answer without its sentences (and "but"-less clauses) that say there is no record: what it does assert. */
export function assertedText(answer: string): string {
  return sentences(answer)
    .flatMap((sentence) => sentence.split(/;\s+|,?\s+(?:but|however)\s+/))
    .filter((clause) => !saysNoRecord(clause))
    .join('\n');
}
