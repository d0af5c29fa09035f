/** One rollout of one window: fork the parent, write chunk after chunk, sit what comes after on the open bank. */
import { boundary, type Fault, FaultError } from '../core/outcome.ts';
import type { ChunkWrite, Rollout } from '../core/trace.ts';
import type { Bank } from '../harness/contract.ts';
import { type RolloutParts, type RolloutTask, restoreSession, type Session } from './session.ts';
import { countListing, writeChunk } from './write-chunk.ts';

/** Definitions §5: restore the bank before the chunk and try again this often. */
export const MAX_CHUNK_RETRIES = 2;

/** Parent of a rollout that never saw its empty bank: it was a fault before it could be opened. */
export const UNOPENED = 'unopened';

/** What is done with the final bank while it is open: the exam in training, nothing in stage 1. */
export type OnFinal<T> = (bank: Bank, rollout: Rollout) => Promise<T>;

export interface FinishedRollout<T> {
  readonly rollout: Rollout;
  /** The closed bank. Meaningless for a fault. */
  readonly directory: string;
  /** What `onFinal` returned; absent for a fault. */
  readonly final?: T;
}

/**
 * Writes the window's chunks in order. A platform fault restores the bank before the chunk and tries again; past the
 * budget the rollout is a fault at every chunk. Rejects with the signal's reason when aborted, after the write in hand.
 */
export async function rollOutWindow<T>(
  parts: RolloutParts,
  task: RolloutTask,
  onFinal: OnFinal<T>,
): Promise<FinishedRollout<T>> {
  const { maxRetries = MAX_CHUNK_RETRIES } = parts;
  const progress: Progress = { writes: [], faults: [] };
  for (;;) {
    parts.signal?.throwIfAborted();
    try {
      return await attempt(parts, task, { progress, onFinal });
    } catch (cause) {
      if (!(cause instanceof FaultError)) throw cause;
      progress.faults.push(cause.toFault());
      if (progress.faults.length > maxRetries) return faulted(parts, task, progress);
      parts.onRetry?.(cause.toFault(), task);
    }
  }
}

interface Progress {
  parentHash?: string;
  readonly writes: ChunkWrite[];
  /** Of the chunk in hand; a chunk that lands clears them. */
  readonly faults: Fault[];
}

interface Work<T> {
  readonly progress: Progress;
  readonly onFinal: OnFinal<T>;
}

async function attempt<T>(
  parts: RolloutParts,
  task: RolloutTask,
  { progress, onFinal }: Work<T>,
): Promise<FinishedRollout<T>> {
  await using session = await restoreSession(parts, task, progress.writes);
  progress.parentHash ??= session.parentHash;
  for (const chunk of task.window.chunks.slice(progress.writes.length)) {
    parts.signal?.throwIfAborted();
    const { write, listing } = await writeChunk(session, chunk, session.listing);
    session.listing = listing;
    progress.writes.push(write);
    progress.faults.length = 0;
  }
  parts.signal?.throwIfAborted();
  const rollout = describe(parts, task, { ...progress, session });
  session.slot.setPurpose('retrieve');
  const final = await onFinal(session.bank, rollout);
  const finished = numberCalls(await withRetrievalCalls(rollout, session));
  await assertUnchanged(session, rollout);
  await session.bank.close();
  return { rollout: finished, directory: task.directory, final };
}

function describe(
  parts: RolloutParts,
  { window, sequence, index }: RolloutTask,
  state: Progress & { readonly session: Session },
): Rollout {
  const last = state.writes.at(-1);
  if (last === undefined || state.parentHash === undefined) {
    throw new Error(`window ${window.id} has no chunk`);
  }
  return {
    windowId: window.id,
    configuration: parts.harness.configuration,
    sequence,
    index,
    parentHash: state.parentHash,
    writes_T: [...state.writes],
    finalHash: last.hashAfter,
    bankTokens: countListing(state.session.listing, parts.countTokens),
    outcome: { kind: 'ok' },
  };
}

/**
 * Calls made while reading are on record with the last write; their purpose says that they are not trainable. One that
 * failed is a fault, whatever the framework answered without it.
 */
async function withRetrievalCalls(rollout: Rollout, { slot }: Session): Promise<Rollout> {
  const calls = await boundary('gateway', () => slot.take());
  for (const { outcome } of calls) {
    if (outcome.kind === 'fault') throw new FaultError(outcome.boundary, outcome.message);
  }
  if (calls.length === 0) return rollout;
  const last = rollout.writes_T.length - 1;
  const writes_T = rollout.writes_T.map((write, t) =>
    t === last ? { ...write, calls: [...write.calls, ...calls] } : write,
  );
  return { ...rollout, writes_T };
}

/** By their order in the rollout: a restored bank has a new slot, which counts from 0 again. */
function numberCalls(rollout: Rollout): Rollout {
  let next = 0;
  const writes_T = rollout.writes_T.map((write) => ({
    ...write,
    calls: write.calls.map((call) => ({ ...call, id: String(next++) })),
  }));
  return { ...rollout, writes_T };
}

/** Reading must leave the bank as it was: it is what the next window starts from. */
async function assertUnchanged({ bank }: Session, { finalHash }: Rollout): Promise<void> {
  const found = await bank.contentHash();
  if (found !== finalHash) {
    throw new FaultError('retriever', `reading changed the bank from ${finalHash} to ${found}`);
  }
}

/** A fault at every chunk: no writes, no loss, no vote, no promotion. */
function faulted<T>(
  parts: RolloutParts,
  task: RolloutTask,
  progress: Progress,
): FinishedRollout<T> {
  const fault = progress.faults.at(-1);
  if (fault === undefined) throw new Error('a faulted rollout without a fault');
  const { parent, window, sequence, index, directory } = task;
  const parentHash = parent.kind === 'bank' ? parent.hash : (progress.parentHash ?? UNOPENED);
  const rollout: Rollout = {
    windowId: window.id,
    configuration: parts.harness.configuration,
    sequence,
    index,
    parentHash,
    writes_T: [],
    finalHash: parentHash,
    bankTokens: 0,
    outcome: fault,
  };
  return { rollout, directory };
}
