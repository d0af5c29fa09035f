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
import { fileNameOf } from '../lib/file-name.ts';
import { createPool } from '../lib/pool.ts';
import type { RewardOptions } from '../reward/options.ts';
import { meterRelays } from './metered-gateway.ts';
import { startProgress } from './progress.ts';
import type { Stack } from './stack.ts';
import type { UsageMeter } from './usage-meter.ts';
import type { NamedWriter } from './writers.ts';

export interface EvaluationRequest {
  readonly users: readonly UserExam[];
  readonly seed: string;
  readonly reward: RewardOptions;
  /** Sit every exam a second time over our own ranking. */
  readonly ownRanking: boolean;
  /** Told of every call that a relay writer was asked for. */
  readonly meter?: UsageMeter;
  readonly quiet: boolean;
  readonly signal?: AbortSignal;
}

export async function evaluateNamed(
  stack: Stack,
  { name, writer }: NamedWriter,
  { users, seed, reward, ownRanking, meter, quiet, signal }: EvaluationRequest,
): Promise<EvaluatedWindow[]> {
  const directory = join(stack.scratch, fileNameOf(`evaluate ${name}`));
  await mkdir(directory, { recursive: true });
  const total = users.reduce((sum, { artifacts }) => sum + artifacts.length, 0);
  const progress = startProgress({ label: name, total, quiet });
  let done = 0;
  try {
    return await evaluateWriter(
      {
        gateway: meter === undefined ? stack.gateway : meterRelays(stack.gateway, meter),
        harness: stack.harness,
        writer,
        countTokens: stack.countTokens,
        examiners: stack.examiners,
        reward,
        ...(ownRanking && {
          ownRanking: { embedder: stack.embedder, topK: stack.config.harness.topK },
        }),
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

/** Two writers' names: the difference a − b. */
export type Pair = readonly [a: string, b: string];

export interface Comparison {
  readonly writers: Readonly<Record<string, WriterSummary>>;
  /** By `differenceKey`, in the order of `pairs`. */
  readonly differences: Readonly<Record<string, Interval>>;
  /** Which two writers each difference is of: a key alone does not say it where a name holds a hyphen. */
  readonly pairs: readonly Pair[];
  readonly faults: number;
}

export function differenceKey([a, b]: Pair): string {
  return `${a}-${b}`;
}

/** Every two writers, in the order given. */
export function allPairs(names: readonly string[]): Pair[] {
  return names.flatMap((a, i) => names.slice(i + 1).map((b): Pair => [a, b]));
}

/** `pairs` have distinct keys; intervals resample users with the run's seed. */
export function compare(
  evaluations: ReadonlyMap<string, readonly EvaluatedWindow[]>,
  pairs: readonly Pair[],
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
      pairs.map((pair) => [
        differenceKey(pair),
        compareWriters(windowsOf(pair[0]), windowsOf(pair[1]), options),
      ]),
    ),
    pairs,
    faults: [...evaluations.values()].reduce((sum, windows) => sum + countFaults(windows), 0),
  };
}
