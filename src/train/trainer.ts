/** What a loop holds while it runs: the engine at the run's last state, the schedule, and the shared limiter. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PolicyEngine } from '../engine/contract.ts';
import type { Writer } from '../gateway/contract.ts';
import type { Harness } from '../harness/contract.ts';
import { createPool, type Pool } from '../lib/pool.ts';
import { UserError } from '../lib/user-error.ts';
import type { Run } from '../store/run.ts';
import type { LoopOptions } from './options.ts';
import type { TrainEnd, TrainEvent, TrainParts } from './parts.ts';
import { Schedule } from './schedule.ts';

export interface Trainer extends AsyncDisposable {
  readonly run: Run;
  readonly parts: TrainParts;
  readonly options: LoopOptions;
  readonly engine: PolicyEngine;
  readonly writer: Writer;
  readonly schedule: Schedule;
  readonly pool: Pool;
  emit(event: TrainEvent): Promise<void>;
}

export class RunCompleteError extends UserError {
  override readonly name = 'RunCompleteError';
  /** Where the finished run's weights are. */
  readonly checkpoint: string;

  constructor(steps: number, checkpoint: string) {
    super(`the run already has its ${steps} steps; its weights are in ${checkpoint}`);
    this.checkpoint = checkpoint;
  }
}

/** Rejects with `RunCompleteError` where no step is left: training nothing is never a success. */
export async function openTrainer(
  run: Run,
  parts: TrainParts,
  options: LoopOptions,
): Promise<Trainer> {
  if (run.nextStep >= options.steps) {
    throw new RunCompleteError(options.steps, requireCheckpoint(run));
  }
  refuseHeldOut(parts, options);
  const schedule = new Schedule(
    parts.artifacts,
    options,
    (configuration) => harnessOf(parts, configuration).scenes,
  );
  const engine = await openEngine(run, parts);
  const emit = async (event: TrainEvent): Promise<void> => {
    parts.onEvent(event);
    await run.appendEvent({ ...event, at: parts.now() });
  };
  await emit({ type: 'opened', nextStep: run.nextStep, steps: options.steps });
  return {
    run,
    parts,
    options,
    engine,
    writer: parts.createWriter(engine),
    schedule,
    pool: createPool(options.concurrency),
    emit,
    [Symbol.asyncDispose]: async () => {
      await rm(parts.workDirectory, { recursive: true, force: true });
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** What is kept for evaluation is trained on only where two settings say so; one may be a slip. */
function refuseHeldOut(parts: TrainParts, { configurations, allowHeldOut }: LoopOptions): void {
  const stray = allowHeldOut.find((name) => !configurations.includes(name));
  if (stray !== undefined) {
    throw new UserError(`allowHeldOut names "${stray}", which is not among the configurations`);
  }
  for (const configuration of configurations) {
    if (harnessOf(parts, configuration).heldOut && !allowHeldOut.includes(configuration)) {
      throw new UserError(
        `configuration "${configuration}" is held out for evaluation: name it in allowHeldOut too to train on it`,
      );
    }
  }
}

/** Runs step after step. An abort ends it between steps or takes back the step in hand. */
export async function runSteps(trainer: Trainer, step: () => Promise<void>): Promise<TrainEnd> {
  const { run, parts, options, emit } = trainer;
  while (run.nextStep < options.steps) {
    const { signal } = parts;
    try {
      signal?.throwIfAborted();
      await step();
    } catch (cause) {
      if (signal?.aborted !== true || cause !== signal.reason) throw cause;
      await emit({ type: 'stopped', nextStep: run.nextStep });
      return { kind: 'stopped', nextStep: run.nextStep };
    }
  }
  await emit({ type: 'finished', steps: run.nextStep });
  return { kind: 'finished', checkpoint: requireCheckpoint(run) };
}

function requireCheckpoint({ lastCheckpoint }: Run): string {
  if (lastCheckpoint === undefined) throw new Error('the last step has no checkpoint');
  return lastCheckpoint;
}

/** The engine as it was after the last committed step. */
async function openEngine(run: Run, parts: TrainParts): Promise<PolicyEngine> {
  const checkpoint = run.lastCheckpoint;
  if (checkpoint === undefined) {
    return await parts.openEngine({ directory: parts.startWeights, state: 'fresh' });
  }
  const engine = await parts.openEngine({ directory: checkpoint, state: 'resumed' });
  const expected = run.records.at(-1)?.policyVersion;
  if (engine.policyVersion !== expected) {
    const found = engine.policyVersion;
    await engine[Symbol.asyncDispose]();
    throw new Error(`${checkpoint} holds policy version ${found}, the run is at ${expected}`);
  }
  return engine;
}

export function harnessOf({ harnesses }: TrainParts, configuration: string): Harness {
  const harness = harnesses.get(configuration);
  if (harness === undefined) throw new UserError(`no harness for configuration "${configuration}"`);
  return harness;
}

/** This step's working banks; whatever a killed attempt left there goes. */
export function stepWorkDirectory({ run, parts }: Trainer): string {
  return join(parts.workDirectory, `step-${run.nextStep}`);
}
