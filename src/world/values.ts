/** The values facts are about. Each belongs to one split for good, so that evaluation asks for what training never showed. */
import { sha256 } from '../lib/hash.ts';
import type { Rng } from '../lib/rng.ts';
import { type WordList, words } from './words.ts';

export type Split = 'train' | 'eval';

export type ValueKind =
  | 'name'
  | 'number'
  | 'version'
  | 'path'
  | 'date'
  | 'amount'
  | 'time'
  | 'word'
  | 'code';

/** What a slot of a template holds: a drawn kind, or a word of a closed list. */
export type Slot = Exclude<ValueKind, 'word'> | { readonly list: WordList };

export interface Value {
  readonly kind: ValueKind;
  /** As it stands in a sentence: `4500 euros`. */
  readonly text: string;
  /** What an answer must contain, and what the split is decided on: `4500`. */
  readonly core: string;
}

/** By slot name: `v` the main value, `w` and `x` further ones, `o` the old one. */
export type SlotValues = Readonly<Partial<Record<'v' | 'w' | 'x' | 'o', Value>>>;

const CONSONANTS = [...'bdfghjklmnprstvz'];
const VOWELS = [...'aeiou'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const LETTERS = [...'ABCDEFGHKLMNPQRSTUVWXZ'];
const FOLDERS = ['src', 'lib', 'docs', 'etc', 'data'];
const EXTENSIONS = ['ts', 'md', 'json', 'py', 'txt'];
const MAX_DRAWS = 1000;
/** Syllables that happen to make an English word are no names: they would not be unseen, and would confuse. */
const NOT_NAMES = new Set(
  `date file fine game give hate here home hope joke june july late life like line live made make male menu mile mine
  more move name nine nose note pile pine poke pose pure rate rice ride role rope rude rule safe sale same side sofa
  solo some take tale tape tide time tire tone tube tuna vote zero judo kilo logo polo bike bone bite bare base done
  dine dire dome fire five fame fate gate gave have hide hire hole hose home nude`.split(/\s+/),
);

/** Half of all values belong to each split, whatever slot they are drawn for. */
export function splitOf(core: string): Split {
  return Number.parseInt(sha256(core.toLowerCase()).slice(0, 2), 16) < 128 ? 'train' : 'eval';
}

/** The closed lists, each by the split its words belong to. */
const WORDS: Readonly<Record<Split, Readonly<Record<string, readonly string[]>>>> = {
  train: wordsOf('train'),
  eval: wordsOf('eval'),
};

function wordsOf(split: Split): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(words).map(([list, members]) => [
      list,
      members.filter((one) => splitOf(one) === split),
    ]),
  );
}

function listOf(list: WordList, split: Split): readonly string[] {
  const members = WORDS[split][list];
  if (members === undefined) throw new Error(`no list of words ${list}`);
  return members;
}

/** Draws until the value belongs to the split and is not yet taken (by its core, lower case); takes it. */
export function drawValue(
  slot: Slot,
  rng: Rng,
  { split, taken }: { split: Split; taken: Set<string> },
): Value {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const value =
      typeof slot === 'string' ? GENERATORS[slot](rng) : word(rng.pick(listOf(slot.list, split)));
    const key = value.core.toLowerCase();
    if (splitOf(value.core) !== split || taken.has(key)) continue;
    taken.add(key);
    return value;
  }
  throw new Error(`no free value left for ${JSON.stringify(slot)} in the ${split} split`);
}

/** Whether every slot can still be drawn `times` over; only closed lists run out. */
export function canDrawAll(
  slots: readonly Slot[],
  { split, taken, times }: { split: Split; taken: ReadonlySet<string>; times: number },
): boolean {
  const lists = slots.flatMap((slot) => (typeof slot === 'string' ? [] : [slot.list]));
  return lists.every((list) => {
    const wanted = lists.filter((other) => other === list).length * times;
    const free = listOf(list, split).filter((one) => !taken.has(one.toLowerCase()));
    return free.length >= wanted;
  });
}

const GENERATORS: Readonly<Record<Exclude<ValueKind, 'word'>, (rng: Rng) => Value>> = {
  name: (rng) => plain('name', properName(rng)),
  number: (rng) => plain('number', String(rng.int(100, 9999))),
  version: (rng) => plain('version', `${rng.int(1, 19)}.${rng.int(0, 30)}.${rng.int(0, 9)}`),
  path: (rng) =>
    plain(
      'path',
      `${rng.pick(FOLDERS)}/${syllables(rng, 2).toLowerCase()}.${rng.pick(EXTENSIONS)}`,
    ),
  date: (rng) => plain('date', `${rng.pick(MONTHS)} ${rng.int(1, 28)}`),
  amount: (rng) => {
    const digits = String(rng.int(20, 9999));
    return { kind: 'amount', text: `${digits} euros`, core: digits };
  },
  time: (rng) => plain('time', `${rng.int(6, 22)}:${String(rng.int(0, 11) * 5).padStart(2, '0')}`),
  code: (rng) => plain('code', `${rng.pick(LETTERS)}${rng.pick(LETTERS)}-${rng.int(100, 999)}`),
};

function plain(kind: ValueKind, text: string): Value {
  return { kind, text, core: text };
}

function word(text: string): Value {
  return plain('word', text);
}

function properName(rng: Rng): string {
  const name = syllables(rng, rng.pick([2, 2, 3]));
  return NOT_NAMES.has(name.toLowerCase()) ? properName(rng) : name;
}

function syllables(rng: Rng, count: number): string {
  const text = Array.from({ length: count }, () => rng.pick(CONSONANTS) + rng.pick(VOWELS)).join(
    '',
  );
  return text.charAt(0).toUpperCase() + text.slice(1);
}
