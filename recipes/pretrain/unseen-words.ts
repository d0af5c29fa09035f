/**
 * Replaces a user's closed-list words by invented ones, so that words too are copied and not remembered. A word's first
 * token is found by meaning, so every token must have been seen to start a value: half of the inventions are spliced
 * from words of the conversation.
 */
import type { Rng } from '../../src/lib/rng.ts';
import type { WorldUser } from '../../src/world/truth.ts';

const CONSONANTS = [...'bcdfghjklmnpqrstvwxz'];
const VOWELS = [...'aeiouy'];
const ENDINGS = ['', '', '', 's', 'ing', 'er', 'es', 'ly'];

/** Each word of the user's facts is replaced with the given probability, everywhere in conversation and truth alike. */
export function withInventedWords(user: WorldUser, share: number, rng: Rng): WorldUser {
  const words = new Set(
    user.truth.flatMap(({ facts }) =>
      facts.flatMap(({ values }) =>
        Object.values(values).flatMap((value) => (value.kind === 'word' ? [value.text] : [])),
      ),
    ),
  );
  const lexicon = lexiconOf(user);
  const invented = new Map(
    [...words]
      .filter(() => rng.chance(share))
      .map((word) => [word, inventLike(word, { lexicon, rng })]),
  );
  if (invented.size === 0) return user;
  const pattern = new RegExp(`(?<![\\w-])(?:${[...invented.keys()].join('|')})(?![\\w-])`, 'g');
  const replace = (text: string): string =>
    text.replace(pattern, (word) => invented.get(word) ?? word);
  return mapStrings(user, replace);
}

/** Plain words of at least three letters that somebody says. */
function lexiconOf(user: WorldUser): string[] {
  const texts = user.sessions.flatMap(({ messages }) => messages.map(({ text }) => text));
  return [...new Set(texts.join(' ').match(/(?<![\w/.-])[a-z]{3,}(?![\w/-])/g))];
}

interface Source {
  readonly lexicon: readonly string[];
  readonly rng: Rng;
}

/** As many words as the original, capitalised where it is. */
function inventLike(original: string, source: Source): string {
  return original
    .split(' ')
    .map((part) => {
      const word = invent(source);
      return /^[A-Z]/.test(part) ? word.charAt(0).toUpperCase() + word.slice(1) : word;
    })
    .join(' ');
}

function invent({ lexicon, rng }: Source): string {
  const draw = rng.next();
  if (draw < 0.4) return babble(rng);
  if (draw < 0.55) return rng.pick(lexicon);
  const head = rng.pick(lexicon).slice(0, rng.int(2, 6));
  return rng.chance(0.8) ? head + rng.pick(lexicon).slice(-rng.int(2, 5)) : head;
}

function babble(rng: Rng): string {
  const syllable = (): string =>
    (rng.chance(0.9) ? rng.pick(CONSONANTS) : '') +
    rng.pick(VOWELS) +
    (rng.chance(0.4) ? rng.pick(CONSONANTS) : '');
  const stem = Array.from({ length: rng.pick([1, 2, 2, 3]) }, syllable).join('');
  return stem + rng.pick(ENDINGS);
}

/** A deep copy with every string that is shown to somebody rewritten; ids hold no words of the lists. */
function mapStrings<T>(value: T, replace: (text: string) => string): T;
function mapStrings(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.map((item: unknown) => mapStrings(item, replace));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapStrings(item, replace)]),
  );
}
