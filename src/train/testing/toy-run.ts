/** A whole training run on the toy policy, world and harness: what the loops' tests share. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { WindowArtifact } from '../../core/exam.ts';
import type { Gateway } from '../../gateway/contract.ts';
import type { Harness } from '../../harness/contract.ts';
import { openRun, type Run } from '../../store/run.ts';
import { createMemoryHarness } from '../../testing/memory-harness.ts';
import { createToyPolicy, openToyPolicy, type ToyPolicy } from '../../testing/toy-policy.ts';
import { toyTemplate, toyTokenizer } from '../../testing/toy-tokens.ts';
import { createToyExaminers, createToyWorld } from '../../testing/toy-world.ts';
import { describeRun } from '../manifest.ts';
import { type OpdOptions, opdOptionsSchema, parseRlOptions, type RlOptions } from '../options.ts';
import type { OpdParts, RlParts, TrainEvent } from '../parts.ts';

export interface ToyRun {
  readonly root: string;
  /** Name of the run under the root. */
  readonly directory?: string;
  readonly gateway: Gateway;
  readonly artifacts?: readonly WindowArtifact[];
  readonly harnesses?: readonly Harness[];
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: TrainEvent) => void;
  /** Stands between the loop and the policy. */
  readonly wrap?: (policy: ToyPolicy) => ToyPolicy;
}

const START = [0.5, 0.5, 0.5, 0.2] as const;
const TEACHER = [0.98, 0.02, 0.1, 0.01] as const;

function toyArtifacts(seed: string): WindowArtifact[] {
  return createToyWorld({ seed, users: 2, windowsPerUser: 2, chunksPerWindow: 2 });
}

export function toyRlOptions(seed: string, steps: number, groupSize = 8): RlOptions {
  return parseRlOptions({
    seed,
    steps,
    rowsPerStep: 2,
    configurations: ['memory'],
    concurrency: 16,
    optimiser: { learningRate: 0.5 },
    credit: { groupSize },
    // The toy bank is a few tokens a message: growth is not what these tests are about.
    reward: { arm: 'no-penalty' },
  });
}

export function toyOpdOptions(seed: string, steps: number): OpdOptions {
  return opdOptionsSchema.parse({
    seed,
    steps,
    rowsPerStep: 2,
    configurations: ['memory'],
    optimiser: { learningRate: 0.3 },
  });
}

export async function toyRlParts(toy: ToyRun): Promise<RlParts> {
  const startWeights = join(toy.root, 'start');
  if (!(await exists(startWeights))) await createToyPolicy(startWeights, START);
  const harnesses = toy.harnesses ?? [createMemoryHarness()];
  return {
    artifacts: toy.artifacts ?? toyArtifacts('world'),
    harnesses: new Map(harnesses.map((harness) => [harness.configuration, harness])),
    gateway: toy.gateway,
    startWeights,
    openEngine: async ({ directory, state }) => {
      const policy = await openToyPolicy(directory, state);
      return toy.wrap === undefined ? policy : toy.wrap(policy);
    },
    createWriter: (engine) => ({
      kind: 'render',
      engine,
      template: toyTemplate,
      maxTokens: 64,
      temperature: 1,
    }),
    countTokens: toyTokenizer.count,
    workDirectory: join(toy.root, `work-${toy.directory ?? 'run'}`),
    ...(toy.signal !== undefined && { signal: toy.signal }),
    onEvent: toy.onEvent ?? (() => undefined),
    now: () => new Date().toISOString(),
    examiners: createToyExaminers(),
  };
}

export async function toyOpdParts(toy: ToyRun): Promise<OpdParts> {
  const { examiners: _, ...parts } = await toyRlParts(toy);
  const directory = join(toy.root, 'teacher');
  if (!(await exists(directory))) await createToyPolicy(directory, TEACHER);
  const teacher = await openToyPolicy(directory);
  return { ...parts, teacher, tokenizerHashes: { student: 'toy', teacher: 'toy' } };
}

/** Opens the run `name` under the root, or resumes it. */
export async function openToyRun(
  directory: string,
  parts: RlParts | OpdParts,
  config: RlOptions | OpdOptions,
): Promise<Run> {
  const { artifacts, startWeights } = parts;
  const kind = 'credit' in config ? 'rl' : 'opd';
  const versions = { memwriter: 'test' };
  const manifest = await describeRun({ kind, config, artifacts, startWeights, versions });
  return await openRun(directory, manifest);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return false;
    throw cause;
  }
}
