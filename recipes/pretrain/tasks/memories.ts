/** How a clerk's memories relate: what says the same of one subject, and how several make one text. */

/** Of the user or the assistant alone many things hold at once. */
const SUBJECT = /^(?!(?:user|assistant) (?:is|changed) )(?<subject>.+?) (?:is|changed from) /;

/** Whether the first, newer text takes the place of the second: both state a value of one subject. */
export function replaces(text: string, old: string): boolean {
  const subject = subjectOf(text);
  return text !== old && subject !== undefined && subject === subjectOf(old);
}

function subjectOf(text: string): string | undefined {
  return SUBJECT.exec(text)?.groups?.['subject'];
}

export type Decision =
  | { readonly kind: 'add' }
  | { readonly kind: 'none'; readonly target: number }
  | { readonly kind: 'update'; readonly target: number };

/** One decision a draft: known already, in the place of an old one (each at most once), or new. */
export function decide(drafts: readonly string[], existing: readonly string[]): Decision[] {
  const touched = new Set<number>();
  const claim = (where: (text: string) => boolean): number => {
    const target = existing.findIndex((text, i) => !touched.has(i) && where(text));
    if (target !== -1) touched.add(target);
    return target;
  };
  return drafts.map((draft): Decision => {
    const same = claim((text) => text === draft);
    if (same !== -1) return { kind: 'none', target: same };
    const target = claim((text) => replaces(draft, text));
    return target === -1 ? { kind: 'add' } : { kind: 'update', target };
  });
}

const JOINT = '; ';

/** Several memories as one text, where a framework stores one. */
export function joined(texts: readonly string[]): string {
  return texts.join(JOINT);
}

export function parted(text: string): string[] {
  return text === '' ? [] : text.split(JOINT);
}
