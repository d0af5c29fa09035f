/** A deterministic lexical embedder: no model, no network; shared words and word pieces make texts near. */
import type { Embedder } from './embedder.ts';

export interface HashEmbedderOptions {
  /** 256 by default. */
  readonly dimensions?: number;
}

const WORD = /[\p{L}\p{N}]+(?:[.'’_/:@+-][\p{L}\p{N}]+)*/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const STOP_WORDS = new Set(
  `a about after all also am an and any are as at be been before but by can could did do does for from get got had has
  have he her hers him his how i if in into is it its just me my no not of on or our out she should so some such than
  that the their them then there these they this those to too up us very was we were what when where which who whom
  whose why will with would you your user users assistant said says tell told`.split(/\s+/),
);

const WEIGHT = { word: 1, part: 0.5, pair: 0.4, gram: 0.35, stop: 0.05 };

/**
 * Feature hashing with signs (Weinberger et al. 2009) of stemmed words, their parts, word pairs and character trigrams;
 * sublinear term frequency; L2-normalised. A text without any feature gets a constant unit vector.
 */
export function createHashEmbedder(options: HashEmbedderOptions = {}): Embedder {
  const dimensions = options.dimensions ?? 256;
  return {
    name: `hash-${dimensions}`,
    dimensions,
    embed: async (texts) => texts.map((text) => embedText(text, dimensions)),
  };
}

function embedText(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const [feature, { count, weight }] of featuresOf(text)) {
    const hash = fnv1a(feature);
    const index = (hash >>> 1) % dimensions;
    const sign = (hash & 1) === 0 ? 1 : -1;
    vector[index] = (vector[index] ?? 0) + sign * weight * (1 + Math.log(count));
  }
  return normalised(vector);
}

function normalised(vector: Float32Array): Float32Array {
  const norm = Math.hypot(...vector);
  if (norm === 0) {
    vector[0] = 1;
    return vector;
  }
  return vector.map((value) => value / norm);
}

type Features = Map<string, { count: number; readonly weight: number }>;

function featuresOf(text: string): Features {
  const features: Features = new Map();
  const add = (feature: string, weight: number): void => {
    const known = features.get(feature);
    if (known === undefined) features.set(feature, { count: 1, weight });
    else known.count += 1;
  };
  let previous = '';
  for (const word of wordsOf(text)) {
    const stop = STOP_WORDS.has(word);
    const stem = stemOf(word);
    add(`w ${stem}`, stop ? WEIGHT.stop : WEIGHT.word);
    if (stop) continue;
    for (const part of partsOf(word)) add(`w ${stemOf(part)}`, WEIGHT.part);
    for (const gram of trigramsOf(stem)) add(`g ${gram}`, WEIGHT.gram);
    if (previous !== '') add(`p ${previous} ${stem}`, WEIGHT.pair);
    previous = stem;
  }
  return features;
}

/** Scripts written without spaces come apart into characters; pairs then stand for words. */
function wordsOf(text: string): string[] {
  const words = text.normalize('NFKC').toLowerCase().match(WORD);
  return (words ?? []).flatMap((word) => (UNSPACED.test(word) ? [...word] : [word]));
}

function partsOf(word: string): string[] {
  const parts = word.split(/[^\p{L}\p{N}]+|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u);
  return parts.length > 1 ? parts.filter((part) => part !== '' && !STOP_WORDS.has(part)) : [];
}

/** Light and English only: plural, possessive, -ing, -ed. */
function stemOf(word: string): string {
  const base = word.replace(/['’]s$/, '');
  if (!/^[a-z]{4,}$/.test(base)) return base;
  if (base.endsWith('ies')) return `${base.slice(0, -3)}y`;
  const cut = base.replace(/(?:ing|ed|es|s)$/, '');
  const stem = cut.length >= 3 && !base.endsWith('ss') ? cut : base;
  return stem.replace(/([b-df-hj-kmnp-rtvwxz])\1$/, '$1').replace(/(?<=..)e$/, '');
}

function trigramsOf(word: string): string[] {
  if (word.length < 4) return [];
  const padded = [...`^${word}$`];
  return padded.slice(2).map((_, i) => padded.slice(i, i + 3).join(''));
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  // FNV's low bits mix poorly; sign and index are taken from there.
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
