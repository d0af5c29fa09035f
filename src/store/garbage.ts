/** Which checkpoints and banks a run may drop: computed from its own records, so that no caller can drop too much. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { userOfSequence } from '../core/trace.ts';
import { padStep, type RunLayout } from './layout.ts';
import type { StepRecord } from './schema.ts';

export interface Retention {
  /** Newest checkpoints that stay, at least 1. */
  readonly keepCheckpoints: number;
  /** Steps whose checkpoint stays for good. */
  readonly namedSteps: readonly number[];
}

export interface Kept {
  readonly checkpoints: ReadonlySet<string>;
  readonly banks: ReadonlySet<string>;
}

/**
 * A resume may start from any kept recent checkpoint. It needs, for every user of a configuration, the bank promoted last
 * before it (a replica starts when the one before is through); later banks stay as well.
 */
export function keptAfter(records: readonly StepRecord[], retention: Retention): Kept {
  const recent = records.filter(({ checkpoint }) => checkpoint).slice(-retention.keepCheckpoints);
  const named = records.filter(
    ({ checkpoint, step }) => checkpoint && retention.namedSteps.includes(step),
  );
  const oldest = recent[0]?.step;
  const banks = new Set<string>();
  const lastBefore = new Map<string, string>();
  for (const { step, rows } of records) {
    for (const { configuration, sequence, outcome } of rows) {
      if (outcome.kind !== 'promoted') continue;
      if (oldest === undefined || step > oldest) banks.add(outcome.hash);
      else lastBefore.set(JSON.stringify([configuration, userOfSequence(sequence)]), outcome.hash);
    }
  }
  return {
    checkpoints: new Set([...recent, ...named].map(({ step }) => padStep(step))),
    banks: new Set([...banks, ...lastBefore.values()]),
  };
}

/** Removes what is not kept; called only between steps. */
export async function collectGarbage(layout: RunLayout, kept: Kept): Promise<void> {
  await removeAllBut(layout.checkpoints, kept.checkpoints);
  await removeAllBut(layout.banks, kept.banks);
}

async function removeAllBut(directory: string, kept: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!kept.has(name)) await rm(join(directory, name), { recursive: true, force: true });
  }
}
