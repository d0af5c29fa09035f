/** G independent copies of one parent bank, all submitted at once: no rollout waits for another one's chunk. */
import { join } from 'node:path';
import type { Window } from '../core/conversation.ts';
import { mapAll, type Pool } from '../lib/pool.ts';
import { type FinishedRollout, type OnFinal, rollOutWindow, UNOPENED } from './rollout.ts';
import { type Parent, ParentBankError, type RolloutParts } from './session.ts';

export interface GroupTask {
  readonly window: Window;
  readonly sequence: string;
  readonly parent: Parent;
  readonly groupSize: number;
  /** Root of the group's sampling; rollout i samples from (seed, i). */
  readonly seed: string;
  /** The group's own; each rollout gets a folder in it. */
  readonly directory: string;
}

export interface GroupParts extends RolloutParts {
  /** Shared by all groups in flight: bounds the banks that are open at a time. */
  readonly pool: Pool;
}

/** The group's rollouts in order of their index; all started from the same content, asserted. */
export async function rollOutGroup<T>(
  parts: GroupParts,
  task: GroupTask,
  onFinal: OnFinal<T>,
): Promise<FinishedRollout<T>[]> {
  const { window, sequence, parent, groupSize, seed, directory } = task;
  const indices = Array.from({ length: groupSize }, (_, index) => index);
  const finished_G = await mapAll(indices, (index) =>
    parts.pool.run(() =>
      rollOutWindow(
        parts,
        {
          window,
          sequence,
          index,
          parent,
          seed: `${seed}/${index}`,
          directory: join(directory, String(index)),
        },
        onFinal,
      ),
    ),
  );
  const named_G = nameParent(finished_G);
  assertOneParent(named_G, window.id);
  return named_G;
}

/** All copies are of one parent: a rollout that could not even open its empty bank has that of its siblings. */
function nameParent<T>(finished_G: readonly FinishedRollout<T>[]): FinishedRollout<T>[] {
  const opened = finished_G.find(({ rollout }) => rollout.parentHash !== UNOPENED);
  if (opened === undefined) return [...finished_G];
  const { parentHash } = opened.rollout;
  return finished_G.map((finished) => {
    const { rollout } = finished;
    if (rollout.parentHash !== UNOPENED) return finished;
    return { ...finished, rollout: { ...rollout, parentHash, finalHash: parentHash } };
  });
}

function assertOneParent(finished_G: readonly FinishedRollout<unknown>[], windowId: string): void {
  const hashes = new Set(finished_G.map(({ rollout }) => rollout.parentHash));
  if (hashes.size > 1) {
    throw new ParentBankError(
      `rollouts of window ${windowId} started from different banks: ${[...hashes].join(', ')}`,
    );
  }
}
