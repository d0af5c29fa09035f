/** LoCoMo questions, whose evidence cites turns, as annotated items: real probes without an annotator. */
import type { AnnotatedItem } from '../core/annotation.ts';
import type { Category, Key } from '../core/exam.ts';
import { answerKey, phrasesIn, wordKey } from './answer-key.ts';
import type { LocomoQuestion } from './locomo-schema.ts';

/** LoCoMo's own numbering, checked against its evaluation code; other projects' maps of it differ. */
export const LOCOMO_CATEGORIES = {
  1: 'multi-hop',
  2: 'temporal',
  3: 'open-domain',
  4: 'single-hop',
  5: 'adversarial',
} as const;

/** A question that no item could be made of, and why. Nothing is guessed. */
export interface UnresolvedQuestion {
  readonly itemId: string;
  readonly question: string;
  readonly reason: 'no-evidence' | 'malformed-evidence' | 'unknown-turn' | 'no-answer';
  readonly detail: string;
}

export interface CitedTurn {
  readonly text: string;
  /** Place in the conversation, from 0. */
  readonly position: number;
}

type Evidence =
  | { readonly ids: readonly string[]; readonly respelled: boolean }
  | Pick<UnresolvedQuestion, 'reason' | 'detail'>;

export const NO_RECORD = 'There is no record of that.';

export function locomoItem(
  id: string,
  qa: LocomoQuestion,
  turns: ReadonlyMap<string, CitedTurn>,
): AnnotatedItem | UnresolvedQuestion {
  const unresolved = { itemId: id, question: qa.question };
  const evidence = resolveEvidence(qa.evidence, turns);
  if ('reason' in evidence) return { ...unresolved, ...evidence };
  const fields = { id, question: qa.question, facets: facetsOf(qa, evidence.respelled) };
  if (qa.category === 5 && qa.answer === undefined) return trapItem(fields, qa, evidence.ids);
  if (qa.answer === undefined || qa.answer.trim() === '') {
    return { ...unresolved, reason: 'no-answer', detail: `category ${qa.category}` };
  }
  return answeredItem(fields, { qa, answer: qa.answer.trim(), ids: evidence.ids, turns });
}

/**
 * Cited turns in conversation order. Several ids in one string and leading zeros have one reading and are read
 * (`respelled`); anything else that is not an existing turn makes the whole question unresolved, since leaving a
 * citation out would make a harder question look like an easier one.
 */
export function resolveEvidence(
  evidence: readonly unknown[] | undefined,
  turns: ReadonlyMap<string, CitedTurn>,
): Evidence {
  const citations = (evidence ?? []).map((cited) => ({ cited, ids: citedIds(cited) }));
  if (citations.length === 0) return { reason: 'no-evidence', detail: '' };
  const places = new Map<string, number>();
  for (const { cited, ids } of citations) {
    if (ids === undefined) return { reason: 'malformed-evidence', detail: JSON.stringify(cited) };
    for (const id of ids) {
      const turn = turns.get(id);
      if (turn === undefined) return { reason: 'unknown-turn', detail: JSON.stringify(cited) };
      places.set(id, turn.position);
    }
  }
  const respelled = citations.some(({ cited, ids }) => ids?.join() !== cited);
  return { ids: [...places].sort(([, a], [, b]) => a - b).map(([id]) => id), respelled };
}

/** `D8:6; D9:17` → two ids, `D30:05` → `D30:5`; undefined where any part is no id. */
function citedIds(cited: unknown): string[] | undefined {
  const tokens = typeof cited === 'string' ? cited.split(/[;,\s]+/).filter(Boolean) : [];
  const ids = tokens.flatMap((token) => {
    const match = /^D(\d+):(\d+)$/.exec(token);
    return match === null ? [] : [`D${Number(match[1])}:${Number(match[2])}`];
  });
  return ids.length > 0 && ids.length === tokens.length ? ids : undefined;
}

type Fields = Pick<AnnotatedItem, 'id' | 'question' | 'facets'>;

/** The chunk that tempts is the one in which the last of the evidence stands. */
function trapItem(fields: Fields, qa: LocomoQuestion, ids: readonly string[]): AnnotatedItem {
  const wrong = qa.adversarial_answer?.trim();
  const tempts = wrong !== undefined && wrong !== '' && !/^not mentioned\b/i.test(wrong);
  const not = tempts ? ` and does not assert: ${wrong}` : '';
  return {
    kind: 'trap',
    ...fields,
    reference: NO_RECORD,
    rubric: [{ id: 'refuses', text: `Says that there is no such record${not}`, weight: 1 }],
    ...(tempts ? { trapped: answerKey(wrong) } : {}),
    scoredMessageId: last(ids),
  };
}

interface Answered {
  readonly qa: LocomoQuestion;
  readonly answer: string;
  readonly ids: readonly string[];
  readonly turns: ReadonlyMap<string, CitedTurn>;
}

function answeredItem(fields: Fields, { qa, answer, ids, turns }: Answered): AnnotatedItem {
  const key = keyOf(qa, answer);
  const category = categoryOf(qa, answer);
  const rubric = [{ id: 'answer', text: `States: ${answer}`, weight: 1, key }];
  const item = { ...fields, reference: answer, rubric };
  if (ids.length === 1) {
    return { kind: 'recall', ...item, category, messageIds: [...ids], scoredMessageId: last(ids) };
  }
  const goldFacts = ids.map((turnId) => ({
    id: `${fields.id}/${turnId}`,
    text: textOf(turns, turnId),
    weight: 1,
    key: factKey(key, textOf(turns, turnId)),
    messageIds: [turnId],
  }));
  return { kind: 'question', ...item, category, goldFacts };
}

/** The phrases of the answer that this turn says; the whole answer where it says none of them literally. */
function factKey(key: Key, text: string): Key {
  const said = phrasesIn(key, text);
  return { ...key, all: said.length > 0 ? said : key.all };
}

function keyOf(qa: LocomoQuestion, answer: string): Key {
  if (qa.category === 2) return wordKey(answer);
  const polar = /^(?:likely\s+)?(yes|no)\b/i.exec(answer)?.[1];
  if (polar !== undefined) {
    return { all: [polar], none: [polar.toLowerCase() === 'yes' ? 'no' : 'yes'] };
  }
  // Open-domain answers give their grounds after a semicolon; the answer stands before it.
  const core = qa.category === 3 ? answer.split(';', 1).join('') : answer;
  return answerKey(core);
}

/** By failure mode: dates, numbers and names are specific; yes and no hang on scope; the rest is detail. */
function categoryOf(qa: LocomoQuestion, answer: string): Category {
  if (qa.category === 2) return 'specificity';
  if (/^(?:likely\s+)?(?:yes|no)\b/i.test(answer)) return 'semantic-exactness';
  if (qa.category === 3) return 'content-not-description';
  if (/[\d"“]|\s\p{Lu}/u.test(answer)) return 'specificity';
  return 'secondary-detail';
}

function facetsOf(qa: LocomoQuestion, respelled: boolean): Record<string, string> {
  const name = Object.entries(LOCOMO_CATEGORIES).find(([n]) => Number(n) === qa.category)?.[1];
  if (name === undefined) throw new Error(`no LoCoMo category ${qa.category}`);
  return {
    source: 'locomo',
    locomoCategory: name,
    ...(respelled ? { evidence: 'respelled' } : {}),
  };
}

function textOf(turns: ReadonlyMap<string, CitedTurn>, id: string): string {
  const turn = turns.get(id);
  if (turn === undefined) throw new Error(`evidence ${id} was resolved but is gone`);
  return turn.text;
}

function last(ids: readonly string[]): string {
  const id = ids.at(-1);
  if (id === undefined) throw new Error('evidence without a turn');
  return id;
}
