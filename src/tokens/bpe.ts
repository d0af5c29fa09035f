/** Trains the byte-level BPE of a policy from scratch, as a `tokenizer.json` that any Hugging Face library loads. */
import { CONTROL_TOKENS, MARKER_TOKENS } from '../core/special-tokens.ts';
import { byteAlphabet, PIECE_PATTERN, splitPieces } from './pre-tokenizer.ts';

export interface BpeOptions {
  /** Control tokens, markers, 256 bytes and merges together. */
  readonly vocabularySize: number;
  /** A pair seen less often is not merged: the vocabulary then stays smaller. */
  readonly minimumCount: number;
}

interface Word {
  symbols: string[];
  readonly count: number;
}

/** Learns merges from the texts; ties go to the pair that sorts first, so the result depends on the texts alone. */
export function trainTokenizer(texts: Iterable<string>, options: BpeOptions): object {
  const alphabet = byteAlphabet();
  const specials = [...CONTROL_TOKENS, ...MARKER_TOKENS];
  const words = countWords(texts, alphabet);
  const merges: [string, string][] = [];
  const room = options.vocabularySize - specials.length - alphabet.length;
  while (merges.length < room) {
    const pair = commonestPair(words, options.minimumCount);
    if (pair === undefined) break;
    merges.push(pair);
    for (const word of words) word.symbols = mergePair(word.symbols, pair);
  }
  return tokenizerJson(specials, alphabet, merges);
}

function countWords(texts: Iterable<string>, alphabet: readonly string[]): Word[] {
  const counts = new Map<string, number>();
  const splitter = new RegExp([...CONTROL_TOKENS, ...MARKER_TOKENS].map(escapePattern).join('|'));
  for (const text of texts) {
    for (const piece of text.split(splitter).flatMap(splitPieces)) {
      const seen = counts.get(piece);
      counts.set(piece, seen === undefined ? 1 : seen + 1);
    }
  }
  const spell = (piece: string): string[] =>
    [...new TextEncoder().encode(piece)].map((byte) => alphabet[byte] as string);
  return [...counts].map(([piece, count]) => ({ symbols: spell(piece), count }));
}

function escapePattern(token: string): string {
  return token.replaceAll(/[|.]/g, '\\$&');
}

function commonestPair(words: readonly Word[], minimumCount: number): [string, string] | undefined {
  const counts = new Map<string, number>();
  for (const { symbols, count } of words) {
    for (let i = 1; i < symbols.length; i++) {
      const pair = `${symbols[i - 1]} ${symbols[i]}`;
      const seen = counts.get(pair);
      counts.set(pair, seen === undefined ? count : seen + count);
    }
  }
  let best: string | undefined;
  let bestCount = minimumCount - 1;
  for (const [pair, count] of counts) {
    if (count < bestCount) continue;
    if (count === bestCount && (best === undefined || pair > best)) continue;
    best = pair;
    bestCount = count;
  }
  if (best === undefined) return undefined;
  const [left, right] = best.split(' ') as [string, string];
  return [left, right];
}

function mergePair(symbols: string[], [left, right]: readonly [string, string]): string[] {
  if (symbols.length < 2) return symbols;
  const merged: string[] = [];
  for (let i = 0; i < symbols.length; i++) {
    const symbol = symbols[i] as string;
    if (symbol === left && symbols[i + 1] === right) {
      merged.push(left + right);
      i++;
    } else merged.push(symbol);
  }
  return merged;
}

function tokenizerJson(
  specials: readonly string[],
  alphabet: readonly string[],
  merges: readonly (readonly [string, string])[],
): object {
  const tokens = [...specials, ...alphabet, ...merges.map(([left, right]) => left + right)];
  const control = new Set<string>(CONTROL_TOKENS);
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specials.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      // Markers are ordinary text to a chat template; only control tokens are special (see template.ts).
      special: control.has(content),
    })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: PIECE_PATTERN }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
}
