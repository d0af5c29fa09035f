/** Makes foreign text safe to store and says what it had to do: nothing is dropped or changed in silence. */

/** What hygiene can find; `docs/data.md` says what is done in each case. */
export const HYGIENE_KINDS = [
  'blank-message',
  'null-content',
  'session-without-messages',
  'lone-surrogate',
  'nul-character',
  'non-string-content',
  'image',
  'image-without-caption',
  'unknown-part',
  'tool-call',
  'tool-result',
  'orphan-tool-result',
  'developer-role',
  'ignored-field',
  'messages-reordered',
  'message-on-another-day',
  'date-without-session',
] as const;
export type HygieneKind = (typeof HYGIENE_KINDS)[number];

/** One finding, before it is known where. */
export interface HygieneNote {
  readonly kind: HygieneKind;
  readonly detail: string;
  /** How often within this one place. */
  readonly times: number;
}

export interface HygieneReport {
  /** Only kinds that occurred. */
  readonly counts: Readonly<Partial<Record<HygieneKind, number>>>;
  /** The first few of each kind. */
  readonly examples: readonly { kind: HygieneKind; where: string; detail: string }[];
}

const EXAMPLES_PER_KIND = 3;
const DETAIL_CHARACTERS = 80;

export function note(kind: HygieneKind, detail = '', times = 1): HygieneNote {
  return { kind, detail, times };
}

/** Gathers the notes of one source. */
export class HygieneLog {
  readonly #counts = new Map<HygieneKind, number>();
  readonly #examples = new Map<HygieneKind, { where: string; detail: string }[]>();

  add(where: string, notes: readonly HygieneNote[]): void {
    for (const { kind, detail, times } of notes) {
      this.#counts.set(kind, times + (this.#counts.get(kind) ?? 0));
      const examples = this.#examples.get(kind) ?? [];
      if (examples.length < EXAMPLES_PER_KIND) examples.push({ where, detail: shorten(detail) });
      this.#examples.set(kind, examples);
    }
  }

  report(): HygieneReport {
    const kinds = HYGIENE_KINDS.filter((kind) => this.#counts.has(kind));
    return {
      counts: Object.fromEntries(kinds.map((kind) => [kind, this.#counts.get(kind)])),
      examples: kinds.flatMap((kind) =>
        (this.#examples.get(kind) ?? []).map((example) => ({ kind, ...example })),
      ),
    };
  }
}

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Lone surrogates and NUL become U+FFFD: neither survives UTF-8 or every framework's store. */
export function wellFormed(text: string): { text: string; notes: HygieneNote[] } {
  const surrogates = text.match(LONE_SURROGATE)?.length;
  const nuls = text.includes('\0') ? text.split('\0').length - 1 : undefined;
  if (surrogates === undefined && nuls === undefined) return { text, notes: [] };
  const clean = text.replace(LONE_SURROGATE, '\uFFFD').replaceAll('\0', '\uFFFD');
  return {
    text: clean,
    notes: [
      ...(surrogates === undefined ? [] : [note('lone-surrogate', clean, surrogates)]),
      ...(nuls === undefined ? [] : [note('nul-character', clean, nuls)]),
    ],
  };
}

const INVISIBLE = /[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Nothing a reader could see: white space of any script, zero-width and other ignorable characters. "0" is not blank. */
export function isBlank(text: string): boolean {
  return text.replace(INVISIBLE, '') === '';
}

/** By code point, so that no character is cut in two. */
function shorten(text: string): string {
  const characters = Array.from(text.slice(0, 2 * DETAIL_CHARACTERS + 2));
  if (characters.length <= DETAIL_CHARACTERS) return text;
  return `${characters.slice(0, DETAIL_CHARACTERS).join('')}…`;
}
