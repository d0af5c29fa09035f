/** Turns a data set's free-text answer into the phrases that a rule judge looks for. */
import type { Key } from '../core/exam.ts';

const FUNCTION_WORDS = new Set(
  (
    'a an the and or but nor of in on at to for from by with about into over as than that this these ' +
    'those it its is are was were be been being has have had having do does did done will would can could should ' +
    'might must he she they them him her his hers their theirs i me my we us our you your who whom which what ' +
    'when where while because so also too very just there here up out off some any each both such own'
  ).split(' '),
);

/** A phrase of at most this many words is looked for as it stands; a longer one by its content words. */
const PHRASE_WORDS = 4;

const LIST_SEPARATOR = /\s*[,;\n]\s*(?:(?:and|or|but)\s+)?|\s+but\s+/u;
const EDGES = /^[\s"'“”‘’()[\]]+|[\s"'“”‘’()[\].,;:!?]+$/gu;

/** The parts of an enumeration, tidied; an answer without separators is one part. A comma inside a date or number stays. */
export function answerParts(answer: string): string[] {
  const shielded = answer.normalize('NFC').replace(/,(?=\s*(?:\d{4}\b|\d{3}\b))/gu, '\u0001');
  const parts = shielded
    .split(LIST_SEPARATOR)
    .map((part) => tidy(part.replaceAll('\u0001', ',')))
    .filter((part) => part !== '');
  return parts.length > 0 ? parts : [answer.trim()];
}

/** One phrase a part; every phrase must be asserted. */
export function answerKey(answer: string): Key {
  return keyOf(answerParts(answer).flatMap(phrasesOf));
}

/** For dates, whose parts come in many orders: "7 May 2023" is asserted by "May 7, 2023". */
export function wordKey(answer: string): Key {
  return keyOf(contentWords(answer));
}

/** The phrases of `key` that occur in `text`, as whole words, whatever their case. */
export function phrasesIn(key: Key, text: string): string[] {
  const padded = ` ${wordsOf(text).join(' ').toLowerCase()} `;
  return key.all.filter((phrase) => {
    const words = wordsOf(phrase).join(' ').toLowerCase();
    return words !== '' && padded.includes(` ${words} `);
  });
}

function keyOf(phrases: readonly string[]): Key {
  return { all: [...new Set(phrases)], none: [] };
}

function phrasesOf(part: string): string[] {
  return wordsOf(part).length <= PHRASE_WORDS ? [part] : contentWords(part);
}

function contentWords(text: string): string[] {
  const words = wordsOf(text);
  const content = words.filter((word) => !FUNCTION_WORDS.has(word.toLowerCase()));
  if (content.length > 0) return content;
  return words.length > 0 ? words : [text.trim()];
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+(?:['’.:/-][\p{L}\p{N}]+)*/gu) ?? [];
}

function tidy(part: string): string {
  return part
    .replace(EDGES, '')
    .replace(/^(?:and|or)\s+/iu, '')
    .replace(/^(?:an?|the)\s+/iu, '')
    .trim();
}
