/** Where byte-level BPE may merge: digits and capitals stand alone, a key of a JSON answer with its quotes is one piece. */

/**
 * Digits and capitals are pieces of their own, so that every value has a first token that does not depend on it and
 * can be copied by position from there on. The third and fourth alternatives keep an answer's scaffolding
 * (`{"memory":[`, `"},{"id":"`, `","text":"`) and the start of a message's line mergeable into single tokens. Written
 * in the subset of regular expressions that Oniguruma and JavaScript read alike.
 */
export const PIECE_PATTERN = [
  String.raw`\p{N}`,
  String.raw`\p{Lu}`,
  String.raw`[\[\]{},"]*"[a-z_]+":["\[]?`,
  String.raw`\n?(?:user|assistant|system|tool):`,
  String.raw` ?[\p{Ll}\p{Lt}\p{Lm}\p{Lo}\p{M}]+(?:'[a-z]+)?`,
  String.raw` ?[^\s\p{L}\p{N}\p{M}"{}\[\],:]+`,
  String.raw` ?[{}\[\],:"]+`,
  String.raw`\s+`,
].join('|');

/** The pieces of a text, in order; together they are the text. */
export function splitPieces(text: string): string[] {
  const pieces: string[] = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp(PIECE_PATTERN, 'gu'))) {
    if (match.index > end) pieces.push(text.slice(end, match.index));
    pieces.push(match[0]);
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push(text.slice(end));
  return pieces;
}

/** GPT-2's printable stand-in for each byte: what `ByteLevel` of Hugging Face tokenizers maps to. */
export function byteAlphabet(): string[] {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : next++),
  );
}
