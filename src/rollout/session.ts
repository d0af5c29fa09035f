/** A rollout's working copy of its parent bank with its private slot; restored by replaying what was recorded. */
import { mkdir, rm } from 'node:fs/promises';
import type { Listing } from '../core/bank.ts';
import type { Window } from '../core/conversation.ts';
import { boundary, type Fault, FaultError } from '../core/outcome.ts';
import type { ChunkWrite } from '../core/trace.ts';
import type { Gateway, Slot, Writer } from '../gateway/contract.ts';
import type { Bank, Harness } from '../harness/contract.ts';
import { forkBank } from '../harness/fork.ts';
import { replyFrom } from './replay.ts';
import { faultOr, type OpenBank } from './write-chunk.ts';

export interface RolloutParts {
  readonly gateway: Gateway;
  readonly harness: Harness;
  readonly writer: Writer;
  /** |x| under the run's pinned tokenizer. */
  readonly countTokens: (text: string) => number;
  /** Aborting ends the rollout after the write in hand. */
  readonly signal?: AbortSignal;
  /** Platform faults a chunk may have before the rollout is one; `MAX_CHUNK_RETRIES` by default. */
  readonly maxRetries?: number;
  /** Told of every fault that is tried again: it leaves no trace in the rollout. */
  readonly onRetry?: (fault: Fault, task: RolloutTask) => void;
}

/** Where a bank starts from: nothing, or a closed directory whose content hash is known. */
export type Parent =
  | { readonly kind: 'empty' }
  | { readonly kind: 'bank'; readonly directory: string; readonly hash: string };

export interface RolloutTask {
  readonly window: Window;
  readonly sequence: string;
  /** i, from 0. */
  readonly index: number;
  readonly parent: Parent;
  /** Root of all sampling of this rollout. */
  readonly seed: string;
  /** This rollout's own; must not exist yet. */
  readonly directory: string;
}

export interface Session extends OpenBank, AsyncDisposable {
  readonly parentHash: string;
  listing: Listing;
}

/** What the opened bank shows is not what it was to start from: nothing after this can be trusted. */
export class ParentBankError extends Error {
  override readonly name = 'ParentBankError';
}

/** Forks the parent, opens the copy, and checks that the framework really sees the parent's content. */
export async function openSession(
  parts: RolloutParts,
  task: RolloutTask,
  writer: Writer = parts.writer,
): Promise<Session> {
  await fork(task);
  const slot = parts.gateway.openSlot({ writer, stages: parts.harness.stages, seed: task.seed });
  try {
    const bank = await openBank(parts.harness, slot, task);
    try {
      return await inspect({ parts, task, slot, bank });
    } catch (cause) {
      await faultOr(() => bank[Symbol.asyncDispose]());
      throw cause;
    }
  } catch (cause) {
    await slot[Symbol.asyncDispose]();
    throw cause;
  }
}

interface Opened {
  readonly parts: RolloutParts;
  readonly task: RolloutTask;
  readonly slot: Slot;
  readonly bank: Bank;
}

async function inspect({ parts, task, slot, bank }: Opened): Promise<Session> {
  const { harness, countTokens } = parts;
  const parentHash = await bank.contentHash();
  assertCarriedOver(task, parentHash);
  const listing = await bank.list();
  assertNothingLeftOver(task, listing);
  return {
    harness,
    slot,
    bank,
    countTokens,
    parentHash,
    listing,
    async [Symbol.asyncDispose]() {
      // An orderly end has closed the bank and heard of any failure; after a fault, a second one says nothing new.
      await faultOr(() => bank[Symbol.asyncDispose]());
      await slot[Symbol.asyncDispose]();
    },
  };
}

/**
 * The bank as it was before a failed chunk: a fresh fork on which the recorded answers are written again. No model is
 * asked. Rejects with a `FaultError` where the framework does not arrive at the recorded content.
 */
export async function restoreSession(
  parts: RolloutParts,
  task: RolloutTask,
  writes: readonly ChunkWrite[],
): Promise<Session> {
  const last = writes.at(-1);
  if (last === undefined) return await openSession(parts, task);
  const directory = `${task.directory}.replay`;
  try {
    await replay(parts, { ...task, directory }, writes);
    const parent: Parent = { kind: 'bank', directory, hash: last.hashAfter };
    return await openSession(parts, { ...task, parent });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function replay(
  parts: RolloutParts,
  task: RolloutTask,
  writes: readonly ChunkWrite[],
): Promise<void> {
  const calls = writes.flatMap((write) => write.calls);
  const reply = replyFrom(calls, parts.harness.stages);
  await using session = await openSession(parts, task, { kind: 'scripted', reply });
  for (const [t, recorded] of writes.entries()) {
    const chunk = task.window.chunks[t];
    if (chunk === undefined) throw new Error(`no chunk ${t} in window ${task.window.id}`);
    session.slot.setPurpose('write');
    // A framework may refuse a malformed answer, now as then: the content decides whether the replay is faithful.
    await faultOr(() => session.bank.write(chunk));
    await boundary('harness', () => session.slot.take());
    if ((await session.bank.contentHash()) !== recorded.hashAfter) {
      throw new FaultError('store', `chunk ${chunk.id} cannot be restored: its replay differs`);
    }
  }
  await session.bank.close();
}

async function fork({ parent, directory }: RolloutTask): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  if (parent.kind === 'empty') await mkdir(directory, { recursive: true });
  else await forkBank(parent.directory, directory);
}

async function openBank(harness: Harness, slot: Slot, task: RolloutTask): Promise<Bank> {
  const [first] = task.window.chunks;
  if (first === undefined) throw new Error(`window ${task.window.id} has no chunk`);
  return await harness.open({
    dir: task.directory,
    model: slot.model,
    embeddings: slot.embeddings,
    now: first.at,
  });
}

function assertCarriedOver({ parent, window, directory }: RolloutTask, found: string): void {
  if (parent.kind === 'empty' || parent.hash === found) return;
  throw new ParentBankError(
    `bank not carried over: window ${window.id} must start from ${parent.hash} (${parent.directory}), but the bank opened in ${directory} has content ${found}`,
  );
}

/** A store that outlives its directory would let one run read another's memories. */
function assertNothingLeftOver({ parent, directory }: RolloutTask, listing: Listing): void {
  if (parent.kind === 'bank' || listing.length === 0) return;
  throw new ParentBankError(
    `left-over memories: the new bank in ${directory} starts with ${listing.length} of them`,
  );
}
