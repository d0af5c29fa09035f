/** How the rule reader and judge see text: exact tokens for phrases, light stems for topics. */

const CONTRACTIONS: readonly (readonly [RegExp, string])[] = [
  [/\bcan't\b/g, 'can not'],
  [/\bcannot\b/g, 'can not'],
  [/\bwon't\b/g, 'will not'],
  [/n't\b/g, ' not'],
  [/'(?:s|re|m|ll|d|ve)\b/g, ''],
];

const EDGE_LEFT = /^(?:[^\p{L}\p{N}/~.]|\.(?!\p{L}))+/u;
const EDGE_RIGHT = /[^\p{L}\p{N}/]+$/u;
const THOUSANDS = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

/**
 * Case, typographic variants, contractions and surrounding punctuation are normalised; what is inside a token stays:
 * `4211` is not `42110`, `14.2` not `14.20`, and a path, version, date or identifier is one token.
 */
export function tokenise(text: string): string[] {
  let normal = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’ʼ`]/g, "'")
    .replace(/[–—]/g, ' ');
  for (const [from, to] of CONTRACTIONS) normal = normal.replace(from, to);
  return normal
    .split(/\s+/)
    .map(trimToken)
    .filter((token) => token !== '');
}

function trimToken(raw: string): string {
  const token = raw.replace(EDGE_LEFT, '').replace(EDGE_RIGHT, '');
  const bare = token === '/' || token === '~' ? '' : token;
  return THOUSANDS.test(bare) ? bare.replaceAll(',', '') : bare;
}

/** Start of the first occurrence of `phrase` at or after `from` as a run of whole tokens, or −1. */
export function findPhrase(
  tokens: readonly string[],
  phrase: readonly string[],
  from: number,
): number {
  if (phrase.length === 0) return -1;
  for (let start = from; start + phrase.length <= tokens.length; start++) {
    if (phrase.every((token, i) => tokens[start + i] === token)) return start;
  }
  return -1;
}

/** Every [start, end) where `phrase` occurs. */
export function phraseSpans(
  tokens: readonly string[],
  phrase: readonly string[],
): (readonly [number, number])[] {
  const spans: [number, number][] = [];
  for (let at = findPhrase(tokens, phrase, 0); at >= 0; at = findPhrase(tokens, phrase, at + 1)) {
    spans.push([at, at + phrase.length]);
  }
  return spans;
}

/** Words that carry grammar, not topic; question words and those every memory shares are among them. */
const STOP_WORDS = new Set(
  `a about after all also am an and any are as at be been before being by can could did do does doing done for from
  had has have having he her hers him his how i if in into is it its just me my of on or our she should so some than
  that the their them then there these they this those to too us user was we were what when where which while who whom
  whose why will with would you your yes please tell say said called named know many much currently now ever`.split(
    /\s+/,
  ),
);

export const NEGATORS: ReadonlySet<string> = new Set(['no', 'not', 'never', 'without', 'neither']);

/** Stems of the content words, in order, repeats kept; a path or identifier also yields its parts. */
export function contentStems(text: string): string[] {
  return contentWords(text).map(stem);
}

/** The same before stemming, which would turn "notes" into "not". */
export function contentWords(text: string): string[] {
  return tokenise(text)
    .flatMap((token) => {
      const parts = token.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== '');
      return parts.length > 1 ? [token, ...parts] : parts;
    })
    .filter((token) => !STOP_WORDS.has(token));
}

/** Light English stemming: plural, -ing, -ed, final e. Numbers and short words stay. */
export function stem(word: string): string {
  if (word.length <= 3 || !/^\p{L}+$/u.test(word)) return word;
  const base = word
    .replace(/(?:ies|ied)$/, 'y')
    .replace(/(?<=[^s])s$/, '')
    .replace(/(?<=\p{L}{3})(?:ing|ed)$/u, '')
    .replace(/(?<=\p{L}{2})e$/u, '');
  return base.replace(/([^aeiouls])\1$/, '$1');
}

/** Sentences: split at a line end, or at closing punctuation before white space. */
export function sentences(text: string): string[] {
  return text
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}
