/** One chunk into one open bank: what the gateway recorded and what two complete listings say. */
import { diffListings, type Listing, type MemoryOp } from '../core/bank.ts';
import type { Chunk } from '../core/conversation.ts';
import { boundary, FaultError } from '../core/outcome.ts';
import type { ChunkWrite } from '../core/trace.ts';
import type { Slot } from '../gateway/contract.ts';
import type { Bank, Harness } from '../harness/contract.ts';
import { sha256 } from '../lib/hash.ts';
import { classifyWrite } from './classify-write.ts';

export interface OpenBank {
  readonly harness: Harness;
  readonly slot: Slot;
  readonly bank: Bank;
  readonly countTokens: (text: string) => number;
}

export interface WrittenChunk {
  readonly write: ChunkWrite;
  readonly listing: Listing;
}

/** Rejects with a `FaultError` where the platform failed; the bank is then not to be used any more. */
export async function writeChunk(
  { harness, slot, bank, countTokens }: OpenBank,
  chunk: Chunk,
  before: Listing,
): Promise<WrittenChunk> {
  slot.setPurpose('write');
  const written = await faultOr(() => bank.write(chunk));
  const calls = await boundary('harness', () => slot.take());
  const after = await bank.list();
  const failed = written instanceof FaultError;
  const outcome = classifyWrite(
    {
      calls,
      before,
      after,
      sideEffects: failed ? [] : written.sideEffects,
      failure: failed ? written : undefined,
    },
    harness,
  );
  const write: ChunkWrite = {
    chunkId: chunk.id,
    calls: [...calls],
    ops: nameByContent(diffListings(before, after)),
    tokensBefore: countListing(before, countTokens),
    tokensAfter: countListing(after, countTokens),
    chunkTokens: chunk.tokens,
    hashAfter: await bank.contentHash(),
    outcome,
  };
  return { write, listing: after };
}

/** |B|: reader-visible text over all of a harness's stores. */
export function countListing(listing: Listing, countTokens: (text: string) => number): number {
  return listing.reduce((sum, { text }) => sum + countTokens(text), 0);
}

/** Frameworks name memories by random ids; records of equal runs must be equal, so an id is made of the content. */
function nameByContent(ops: readonly MemoryOp[]): MemoryOp[] {
  const seen = new Map<string, number>();
  const named = ops.map((op): MemoryOp => {
    const name = sha256(op.kind === 'add' ? op.text : op.before).slice(0, 12);
    const repeat = seen.get(name) ?? 0;
    seen.set(name, repeat + 1);
    return { ...op, id: repeat === 0 ? name : `${name}-${repeat}` };
  });
  return named.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

function sortKey(op: MemoryOp): string {
  return JSON.stringify([op.kind, op.id]);
}

/** The rejection is evidence, not yet a verdict: the record decides whose fault it was. */
export async function faultOr<T>(run: () => PromiseLike<T>): Promise<T | FaultError> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof FaultError) return cause;
    throw cause;
  }
}
