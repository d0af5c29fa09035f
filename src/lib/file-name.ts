/** Any text as one file name that no file system, shell or database address reads otherwise; equal texts, equal names. */
import { sha256 } from './hash.ts';

const PLAIN = /^[\w.-]{1,60}$/;

/** Plain text as it is; anything else by its beginning and a hash. `%` is avoided too: addresses decode it. */
export function fileNameOf(text: string): string {
  if (PLAIN.test(text) && !text.startsWith('.')) return text;
  const start = text.replace(/[^\w-]+/g, '-').slice(0, 40);
  return `${start}-${sha256(text).slice(0, 12)}`;
}
