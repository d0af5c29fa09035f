/** A memory bank seen from outside: complete listings, their difference, and an identity that ignores random ids. */
import { z } from 'zod';

export const memorySchema = z.object({
  id: z.string().min(1),
  /** The text a reader would see. */
  text: z.string(),
  /** Which of the harness's stores holds it. */
  store: z.string().default('memory'),
});
export type Memory = z.infer<typeof memorySchema>;

/** Complete by contract: whoever produced it checked the count in the store itself. */
export type Listing = readonly Memory[];

export const memoryOpSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('add'), id: z.string(), text: z.string() }),
  z.object({ kind: z.literal('update'), id: z.string(), before: z.string(), after: z.string() }),
  z.object({ kind: z.literal('remove'), id: z.string(), before: z.string() }),
]);
export type MemoryOp = z.infer<typeof memoryOpSchema>;

/** What changed between two complete listings. */
export function diffListings(before: Listing, after: Listing): MemoryOp[] {
  const key = ({ store, id }: Memory): string => `${store}\u0000${id}`;
  const old = new Map(before.map((memory) => [key(memory), memory]));
  const now = new Set(after.map(key));
  const written = after.flatMap((memory): MemoryOp[] => {
    const previous = old.get(key(memory));
    if (previous === undefined) return [{ kind: 'add', id: memory.id, text: memory.text }];
    if (previous.text === memory.text) return [];
    return [{ kind: 'update', id: memory.id, before: previous.text, after: memory.text }];
  });
  const removed = before
    .filter((memory) => !now.has(key(memory)))
    .map(({ id, text }): MemoryOp => ({ kind: 'remove', id, before: text }));
  return [...written, ...removed];
}
