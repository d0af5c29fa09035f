/** Groups a user's chunks into windows, the unit between two promotions (definitions §1). */
import type { UserStream } from '../core/annotation.ts';
import type { Chunk, Window } from '../core/conversation.ts';
import { type ChunkOptions, chunksOf, escapePart } from './chunks.ts';

export const CHUNKS_PER_WINDOW = 5;

/** The next ≤ 5 chunks of one user in time order; a window may span sessions. */
export function windowsOf(chunks: readonly Chunk[]): Window[] {
  return Array.from({ length: Math.ceil(chunks.length / CHUNKS_PER_WINDOW) }, (_, index) => {
    const start = index * CHUNKS_PER_WINDOW;
    const members = chunks.slice(start, start + CHUNKS_PER_WINDOW);
    const [first] = members;
    if (first === undefined) throw new Error('a window without a chunk');
    const id = `${escapePart(first.userId)}/w${index}`;
    return { id, userId: first.userId, index, chunks: members };
  });
}

export function windowsOfStream(stream: UserStream, options: ChunkOptions): Window[] {
  return windowsOf(chunksOf(stream.sessions, options));
}
