/** Cuts a user's sessions into the chunks a writer sees one at a time (definitions §1). */
import { type Chunk, renderChunk, type Session } from '../core/conversation.ts';
import { inTimeOrder } from './times.ts';
import { type Turn, turnsOf } from './turns.ts';

export interface ChunkOptions {
  /** |x| under the run's pinned tokenizer. */
  readonly countTokens: (text: string) => number;
  readonly turnsPerChunk: number;
  /** Tokens of a chunk's rendered text above which it is split at turn boundaries. */
  readonly maxChunkTokens: number;
}

export const CHUNK_DEFAULTS = { turnsPerChunk: 10, maxChunkTokens: 8000 } as const;

/**
 * All chunks of one user, in time order. N turns of a session become k = max(1, round(N / turnsPerChunk)) chunks of
 * ⌈N/k⌉ or ⌊N/k⌋ turns; one above `maxChunkTokens` is split further. A session without messages has no chunk.
 * Ids depend on user, session and place within the session alone, so that a new session moves no other's ids.
 */
export function chunksOf(sessions: readonly Session[], options: ChunkOptions): Chunk[] {
  const users = new Set(sessions.map(({ userId }) => userId));
  if (users.size > 1) throw new Error(`chunks of one user at a time, not of ${users.size}`);
  return inTimeOrder(sessions)
    .flatMap((session) => chunksOfSession(session, options))
    .map((chunk, index) => ({ ...chunk, index }));
}

function chunksOfSession(
  { id, userId, at, scene, messages }: Session,
  options: ChunkOptions,
): Omit<Chunk, 'index'>[] {
  const turns = turnsOf(messages);
  if (turns.length === 0) return [];
  const k = Math.max(1, Math.round(turns.length / options.turnsPerChunk));
  const groups = splitEvenly(turns, k).flatMap((group) => splitBySize(group, options));
  return groups.map((group, place) => {
    const tokens = sizeOf(group, options);
    return {
      id: [userId, id, String(place)].map(escapePart).join('/'),
      userId,
      sessionId: id,
      at,
      scene,
      messages: group.flat(),
      tokens,
      oversized: tokens > options.maxChunkTokens,
    };
  });
}

/** k runs whose lengths differ by at most one, the longer ones first. */
export function splitEvenly<T>(items: readonly T[], k: number): T[][] {
  const longer = items.length % k;
  const length = Math.floor(items.length / k);
  let start = 0;
  return Array.from({ length: k }, (_, i) => {
    const end = start + length + (i < longer ? 1 : 0);
    const run = items.slice(start, end);
    start = end;
    return run;
  });
}

/** Fills each piece with whole turns up to the limit; a single turn above it stays whole. */
function splitBySize(turns: readonly Turn[], options: ChunkOptions): Turn[][] {
  if (sizeOf(turns, options) <= options.maxChunkTokens) return [[...turns]];
  const pieces: Turn[][] = [];
  for (const turn of turns) {
    const piece = pieces.at(-1);
    if (piece !== undefined && sizeOf([...piece, turn], options) <= options.maxChunkTokens) {
      piece.push(turn);
    } else {
      pieces.push([turn]);
    }
  }
  return pieces;
}

function sizeOf(turns: readonly Turn[], { countTokens }: ChunkOptions): number {
  return countTokens(renderChunk(turns.flat()));
}

/** Keeps ids of different users and sessions apart whatever characters they hold. */
export function escapePart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('/', '%2F');
}
