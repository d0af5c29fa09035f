/** What a run is, before its first step: the same inputs give the same manifest, and only the same may resume it. */
import { z } from 'zod';
import type { WindowArtifact } from '../core/exam.ts';
import { hashJson } from '../lib/hash.ts';
import { hashDirectory } from '../store/hash-directory.ts';
import { type Manifest, manifestSchema } from '../store/schema.ts';
import type { LoopOptions } from './options.ts';

export interface RunInputs {
  readonly kind: 'opd' | 'rl';
  /** All of the run's options; what the loops do not know (world, writer, reader) goes in as well. */
  readonly config: LoopOptions & Readonly<Record<string, unknown>>;
  readonly artifacts: readonly WindowArtifact[];
  readonly startWeights: string;
  /** Directory of the frozen teacher: another one would teach something else halfway. */
  readonly teacherWeights?: string;
  readonly versions: Readonly<Record<string, string>>;
}

export async function describeRun(inputs: RunInputs): Promise<Manifest> {
  const { kind, config, artifacts, startWeights, teacherWeights, versions } = inputs;
  return manifestSchema.parse({
    kind,
    seed: config.seed,
    preset: config.preset,
    config: z.json().parse(JSON.parse(JSON.stringify(config))),
    dataHash: hashJson(artifacts),
    startWeightsHash: await hashDirectory(startWeights),
    ...(teacherWeights !== undefined && {
      teacherWeightsHash: await hashDirectory(teacherWeights),
    }),
    versions,
  });
}
