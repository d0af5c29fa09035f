/** Groups a user's chunks into windows, the unit between two promotions (definitions §1). */
import type { UserStream } from '../core/annotation.ts';
import type { Chunk, Window } from '../core/conversation.ts';
import { type ChunkOptions, chunksOf, escapePart } from './chunks.ts';

export const CHUNKS_PER_WINDOW = 5;

export interface WindowOptions extends ChunkOptions {
  readonly chunksPerWindow?: number;
}

/** The next ≤ `size` chunks of one user in time order; a window may span sessions. */
export function windowsOf(chunks: readonly Chunk[], size: number = CHUNKS_PER_WINDOW): Window[] {
  return Array.from({ length: Math.ceil(chunks.length / size) }, (_, index) => {
    const start = index * size;
    const members = chunks.slice(start, start + size);
    const [first] = members;
    if (first === undefined) throw new Error('a window without a chunk');
    const id = `${escapePart(first.userId)}/w${index}`;
    return { id, userId: first.userId, index, chunks: members };
  });
}

export function windowsOfStream(stream: UserStream, options: WindowOptions): Window[] {
  return windowsOf(chunksOf(stream.sessions, options), options.chunksPerWindow);
}
