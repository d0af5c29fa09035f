/** The end of a step: promoted banks, checkpoint and records go to the run directory, the step's line last. */
import { rm } from 'node:fs/promises';
import type { CreditedRollout } from '../core/trace.ts';
import type { StepReport } from '../engine/contract.ts';
import type { ExamCounts } from '../exam/cache.ts';
import type { RowRecord, StepRecord } from '../store/schema.ts';
import { countFaults } from './admit.ts';
import type { RolledRow } from './roll-out-rows.ts';
import { stepWorkDirectory, type Trainer } from './trainer.ts';
import { assertFinite, assertPlatformUp } from './tripwires.ts';

export interface StepResult {
  readonly rows: readonly RolledRow<unknown>[];
  readonly rollouts: readonly CreditedRollout[];
  /** Per row the index of the rollout whose bank goes on; undefined leaves the window void. */
  readonly promoted: readonly (number | undefined)[];
  readonly outcome: StepRecord['outcome'];
  readonly metrics: Readonly<Record<string, number | undefined>>;
  readonly exam?: ExamCounts;
}

/** Commits, drops what no resume needs, and stops a run that cannot go on. */
export async function commitStep(trainer: Trainer, result: StepResult): Promise<void> {
  const { run, engine, options } = trainer;
  const step = run.nextStep;
  const workDirectory = stepWorkDirectory(trainer);
  const banks = new Map<string, string>();
  const rows = result.rows.map((rolled, r) =>
    rowRecord(rolled, { index: result.promoted[r], banks, retries: options.faults.windowRetries }),
  );
  const last = step + 1 === options.steps;
  const due = last || (step + 1) % options.checkpoint.every === 0;
  const record = await run.commitStep({
    record: {
      step,
      outcome: result.outcome,
      rows,
      policyVersion: engine.policyVersion,
      metrics: finiteOnly(result.metrics),
      faults: countFaults(result.rollouts),
    },
    rollouts: result.rollouts,
    banks,
    ...(due && { saveCheckpoint: (directory: string) => engine.save(directory) }),
  });
  const { keep, named } = options.checkpoint;
  await run.collectGarbage({ keepCheckpoints: keep, namedSteps: named });
  await rm(workDirectory, { recursive: true, force: true });
  const { exam } = result;
  for (const { configuration, windowId, attempt, outcome: fate } of record.rows) {
    if (fate.kind !== 'void' || !fate.skipped) continue;
    const message = `window ${windowId} (${configuration}) is skipped after ${attempt + 1} attempts`;
    await trainer.emit({ type: 'alarm', step, message });
  }
  await trainer.emit({ type: 'step-committed', record, ...(exam && { exam }) });
  assertFinite(run.records);
  assertPlatformUp(run.records, options.faults.maxAbortedSteps);
}

/** What an engine reports, as the step's line holds it. */
export function reportMetrics(report: StepReport): Record<string, number> {
  const { loss, gradNorm, trainedTokens, metrics } = report;
  return { loss, gradNorm, trainedTokens, ...metrics };
}

interface Promotion {
  readonly index: number | undefined;
  readonly banks: Map<string, string>;
  readonly retries: number;
}

function rowRecord(
  { row, finished_G }: RolledRow<unknown>,
  { index, banks, retries }: Promotion,
): RowRecord {
  const [first] = finished_G;
  if (first === undefined) throw new Error('a row without rollouts');
  const winner = finished_G.find(({ rollout }) => rollout.index === index);
  if (winner !== undefined) banks.set(winner.rollout.finalHash, winner.directory);
  return {
    configuration: row.configuration,
    sequence: row.sequence,
    windowId: row.artifact.window.id,
    windowIndex: row.windowIndex,
    attempt: row.attempt,
    parentHash: first.rollout.parentHash,
    outcome:
      winner === undefined
        ? { kind: 'void', skipped: row.attempt >= retries }
        : {
            kind: 'promoted',
            index: winner.rollout.index,
            hash: winner.rollout.finalHash,
            bankTokens: winner.rollout.bankTokens,
          },
  };
}

/** JSON knows no NaN: a value that is absent or not finite is left out; the step's outcome says why. */
function finiteOnly(metrics: StepResult['metrics']): Record<string, number> {
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([name, value]) =>
      value !== undefined && Number.isFinite(value) ? [[name, value] as const] : [],
    ),
  );
}
