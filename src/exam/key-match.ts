/** Whether an answer meets a key: every `all` phrase asserted, no `none` phrase asserted. */
import type { Half, Key } from '../core/exam.ts';
import { contentStems, NEGATORS, phraseSpans, tokenise } from './text.ts';

/**
 * 1: all phrases and nothing that contradicts; ½: a part of several phrases; 0: none of them, or a contradiction.
 * A `none` phrase inside a longer `all` phrase ("no longer lives in Lyon") does not contradict.
 */
export function matchKey(text: string, key: Key): Half {
  const tokens = tokenise(text);
  const spans = key.all.map((phrase) => phraseSpans(tokens, tokenise(phrase)));
  const asserted = spans.flat();
  const contradicted = key.none
    .flatMap((phrase) => phraseSpans(tokens, tokenise(phrase)))
    .some(([start, end]) => !asserted.some(([from, to]) => liesWithin([start, end], [from, to])));
  if (contradicted) return 0;
  const found = spans.filter(({ length }) => length > 0).length;
  if (found === spans.length) return 1;
  return found > 0 ? 0.5 : 0;
}

/** Whether every `all` phrase occurs, whatever is said about it. */
export function mentions(text: string, key: Key): boolean {
  const tokens = tokenise(text);
  return key.all.every((phrase) => phraseSpans(tokens, tokenise(phrase)).length > 0);
}

export interface OverlapThresholds {
  /** Share of the reference's content words that counts as all of it. */
  readonly full: number;
  /** Share that counts as half. */
  readonly half: number;
}

/**
 * For references without a key: 1 when the phrase occurs whole or `full` of its content words do, ½ from `half` on.
 * Numbers and identifiers are words like others, compared exactly. A negation in the answer that the reference lacks,
 * up to three words before the match, or the other way round, gives 0.
 */
export function matchReference(
  text: string,
  reference: string,
  thresholds: OverlapThresholds,
): Half {
  const tokens = tokenise(text);
  const phrase = tokenise(reference);
  if (phrase.length === 0) throw new Error('a reference without words cannot be graded');
  const isNegative = phrase.some((token) => NEGATORS.has(token));
  const spans = phraseSpans(tokens, phrase);
  if (spans.length > 0) {
    const plainly = isNegative || spans.some(([start]) => !negatedBefore(tokens, start));
    return plainly ? 1 : 0;
  }
  const wanted = [...new Set(contentStems(reference))];
  if (wanted.length === 0) return 0;
  const present = new Set(contentStems(text));
  const share = wanted.filter((word) => present.has(word)).length / wanted.length;
  if (share < thresholds.half) return 0;
  const isContradicted = isNegative
    ? !tokens.some((token) => NEGATORS.has(token))
    : allNegated(tokens, wanted);
  if (isContradicted) return 0;
  return share >= thresholds.full ? 1 : 0.5;
}

function liesWithin(inner: readonly [number, number], outer: readonly [number, number]): boolean {
  const isShorter = inner[1] - inner[0] < outer[1] - outer[0];
  return isShorter && inner[0] >= outer[0] && inner[1] <= outer[1];
}

/** True when each place that a wanted word first appears in is under a negation. */
function allNegated(tokens: readonly string[], wanted: readonly string[]): boolean {
  const hits = tokens.flatMap((token, i) =>
    contentStems(token).some((word) => wanted.includes(word)) ? [i] : [],
  );
  return hits.every((at) => negatedBefore(tokens, at));
}

function negatedBefore(tokens: readonly string[], at: number): boolean {
  return tokens.slice(Math.max(0, at - 3), at).some((token) => NEGATORS.has(token));
}
