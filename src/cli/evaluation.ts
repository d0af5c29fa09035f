/** Several writers on the same users, one after the other, with one summary each: shared by `eval` and `demo`. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_BOOTSTRAP } from '../bench/bootstrap.ts';
import { type EvaluatedWindow, evaluateWriter, type UserExam } from '../bench/evaluate.ts';
import {
  compareWriters,
  countFaults,
  type Interval,
  summariseWriter,
  type WriterSummary,
} from '../bench/writer-summary.ts';
import { createPool } from '../lib/pool.ts';
import { startProgress } from './progress.ts';
import type { Stack } from './stack.ts';
import type { NamedWriter } from './writers.ts';

export interface EvaluationRequest {
  readonly users: readonly UserExam[];
  readonly seed: string;
  readonly quiet: boolean;
  readonly signal?: AbortSignal;
}

export async function evaluateNamed(
  stack: Stack,
  { name, writer }: NamedWriter,
  { users, seed, quiet, signal }: EvaluationRequest,
): Promise<EvaluatedWindow[]> {
  const directory = join(stack.scratch, `evaluate-${encodeURIComponent(name)}`);
  await mkdir(directory, { recursive: true });
  const total = users.reduce((sum, { artifacts }) => sum + artifacts.length, 0);
  const progress = startProgress({ label: name, total, quiet });
  let done = 0;
  try {
    return await evaluateWriter(
      {
        gateway: stack.gateway,
        harness: stack.harness,
        writer,
        countTokens: stack.countTokens,
        examiners: stack.examiners,
        reward: stack.config.reward,
        pool: createPool(stack.config.concurrency),
        directory,
        onWindow: () => {
          done += 1;
          progress.update(done);
        },
        ...(signal && { signal }),
      },
      users,
      seed,
    );
  } finally {
    progress.stop();
  }
}

export interface Comparison {
  readonly writers: Readonly<Record<string, WriterSummary>>;
  readonly differences: Readonly<Record<string, Interval>>;
  readonly faults: number;
}

/** `pairs` name differences a − b; intervals resample users with the run's seed. */
export function compare(
  evaluations: ReadonlyMap<string, readonly EvaluatedWindow[]>,
  pairs: readonly (readonly [string, string])[],
  seed: string,
): Comparison {
  const options = { ...DEFAULT_BOOTSTRAP, seed };
  const windowsOf = (name: string): readonly EvaluatedWindow[] => {
    const windows = evaluations.get(name);
    if (windows === undefined) throw new Error(`writer ${name} was not evaluated`);
    return windows;
  };
  return {
    writers: Object.fromEntries(
      [...evaluations].map(([name, windows]) => [name, summariseWriter(windows, options)]),
    ),
    differences: Object.fromEntries(
      pairs.map(([a, b]) => [`${a}-${b}`, compareWriters(windowsOf(a), windowsOf(b), options)]),
    ),
    faults: [...evaluations.values()].reduce((sum, windows) => sum + countFaults(windows), 0),
  };
}
