/** Replaces a user's closed-list words by invented ones, so that words too are copied and not remembered. */
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
  const invented = new Map(
    [...words].filter(() => rng.chance(share)).map((word) => [word, inventLike(word, rng)]),
  );
  if (invented.size === 0) return user;
  const pattern = new RegExp(`(?<![\\w-])(?:${[...invented.keys()].join('|')})(?![\\w-])`, 'g');
  const replace = (text: string): string =>
    text.replace(pattern, (word) => invented.get(word) ?? word);
  return mapStrings(user, replace);
}

/** As many words as the original, capitalised where it is. */
function inventLike(original: string, rng: Rng): string {
  return original
    .split(' ')
    .map((part) => {
      const word = invent(rng);
      return /^[A-Z]/.test(part) ? word.charAt(0).toUpperCase() + word.slice(1) : word;
    })
    .join(' ');
}

function invent(rng: Rng): string {
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
