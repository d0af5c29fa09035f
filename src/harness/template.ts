/** Cuts a prompt's variable parts out, so that its static rest can be known by one hash. */
import { sha256 } from '../lib/hash.ts';

/** One variable part: it stands between the end of `after` and the start of `before`. */
export interface Slot {
  readonly after: string;
  readonly before: string;
  /**
   * `first`: text that forges `before` ends the part early, and goes on in the next part. `last`: only for a part that no
   * free text follows.
   */
  readonly end: 'first' | 'last';
}

/** The parts in order; undefined where a mark is missing or the static rest has another hash. */
export function cutTemplate(
  text: string,
  slots: readonly Slot[],
  hashes: readonly string[],
): readonly string[] | undefined {
  const parts: string[] = [];
  let rest = '';
  let at = 0;
  for (const { after, before, end } of slots) {
    const found = text.indexOf(after, at);
    if (found === -1) return undefined;
    const from = found + after.length;
    const to = end === 'first' ? text.indexOf(before, from) : text.lastIndexOf(before);
    if (to < from) return undefined;
    rest += `${text.slice(at, from)}\u0000`;
    parts.push(text.slice(from, to));
    at = to;
  }
  return hashes.includes(sha256(rest + text.slice(at))) ? parts : undefined;
}

/** One wording of a prompt: frameworks ask in the language that they detect in the conversation. */
export interface Template {
  readonly slots: readonly Slot[];
  readonly sha256: string;
}

/** The parts by the first template that fits. */
export function cutOneOf(
  text: string,
  templates: readonly Template[],
): readonly string[] | undefined {
  for (const { slots, sha256: hash } of templates) {
    const parts = cutTemplate(text, slots, [hash]);
    if (parts !== undefined) return parts;
  }
  return undefined;
}
