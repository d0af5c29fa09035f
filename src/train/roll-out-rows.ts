/** All rollouts of a step: every row's group is submitted at once, whatever its configuration. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bank } from '../harness/contract.ts';
import { mapAll } from '../lib/pool.ts';
import { rollOutGroup } from '../rollout/group.ts';
import type { FinishedRollout } from '../rollout/rollout.ts';
import type { Parent } from '../rollout/session.ts';
import type { TrainEvent } from './parts.ts';
import type { PlannedRow } from './schedule.ts';
import { harnessOf, stepWorkDirectory, type Trainer } from './trainer.ts';

export interface RolledRow<T> {
  readonly row: PlannedRow;
  readonly finished_G: readonly FinishedRollout<T>[];
}

export interface StepPlan {
  readonly rows: readonly PlannedRow[];
  readonly groupSize: number;
}

/** `onFinal` sits on each final bank as soon as its rollout is written; it waits for no sibling. */
export async function rollOutRows<T>(
  trainer: Trainer,
  { rows, groupSize }: StepPlan,
  onFinal: (row: PlannedRow, bank: Bank) => Promise<T>,
): Promise<RolledRow<T>[]> {
  const { run, parts, writer, pool, options } = trainer;
  const { nextStep: step } = run;
  const directory = stepWorkDirectory(trainer);
  await rm(directory, { recursive: true, force: true });
  await trainer.emit({ type: 'step-started', step, rows: rows.length });
  return await mapAll(rows, async (row, r) => {
    const { configuration, sequence, artifact, attempt } = row;
    const windowId = artifact.window.id;
    const retries: TrainEvent[] = [];
    const finished_G = await rollOutGroup(
      {
        gateway: parts.gateway,
        harness: harnessOf(parts, configuration),
        writer,
        countTokens: parts.countTokens,
        pool,
        maxRetries: options.faults.chunkRetries,
        onRetry: (fault, { index }) => {
          retries.push({ type: 'write-retried', step, configuration, windowId, index, fault });
        },
        ...(parts.signal !== undefined && { signal: parts.signal }),
      },
      {
        window: artifact.window,
        sequence,
        parent: parentOf(trainer, row),
        groupSize,
        seed: [options.seed, step, configuration, sequence, windowId, attempt].join('/'),
        directory: join(directory, String(r)),
      },
      (bank) => onFinal(row, bank),
    );
    for (const event of retries) await trainer.emit(event);
    const faults = finished_G.filter(({ rollout }) => rollout.outcome.kind === 'fault').length;
    await trainer.emit({ type: 'row-finished', step, configuration, windowId, faults });
    return { row, finished_G };
  });
}

function parentOf({ run }: Trainer, { parentHash }: PlannedRow): Parent {
  if (parentHash === undefined) return { kind: 'empty' };
  return { kind: 'bank', directory: run.bank(parentHash), hash: parentHash };
}
