/** The demo's numbers in one place: worlds, steps and rates. Why they are what they are: docs/log.md. */
import type { z } from 'zod';
import { sha256 } from '../lib/hash.ts';
import type { DataConfig, opdConfigSchema, rlConfigSchema } from './config.ts';

export interface DemoPlan {
  /** Part of the run directory's name, so that a quick demo is never taken for a whole one. */
  readonly name: '' | 'quick-';
  readonly opd: z.input<typeof opdConfigSchema>;
  readonly rl: z.input<typeof rlConfigSchema>;
  readonly evaluation: DataConfig;
  readonly transfer: DataConfig;
}

interface Size {
  readonly trainUsers: number;
  readonly opdSteps: number;
  readonly opdRows: number;
  readonly rlSteps: number;
  readonly rlRows: number;
  readonly evalUsers: number;
  readonly transferUsers: number;
}

const WHOLE: Size = {
  trainUsers: 96,
  opdSteps: 6,
  opdRows: 32,
  rlSteps: 10,
  rlRows: 8,
  evalUsers: 32,
  transferUsers: 8,
};
const QUICK: Size = {
  trainUsers: 8,
  opdSteps: 2,
  opdRows: 8,
  rlSteps: 2,
  rlRows: 2,
  evalUsers: 6,
  transferUsers: 2,
};

export function demoPlan(seed: string, quick: boolean): DemoPlan {
  const size = quick ? QUICK : WHOLE;
  const common = { seed, configurations: ['mem0'], concurrency: 16 };
  const world = worldOf(seed);
  const train = world({ split: 'train', users: size.trainUsers });
  return {
    name: quick ? 'quick-' : '',
    opd: {
      data: train,
      train: {
        ...common,
        steps: size.opdSteps,
        rowsPerStep: size.opdRows,
        optimiser: { learningRate: 5e-4 },
      },
    },
    rl: {
      data: train,
      train: {
        ...common,
        steps: size.rlSteps,
        rowsPerStep: size.rlRows,
        optimiser: { learningRate: 3e-4 },
      },
    },
    evaluation: world({ split: 'eval', users: size.evalUsers }),
    transfer: world({ split: 'eval', users: size.transferUsers, heldOutForms: true }),
  };
}

/** Another seed is another world: other users to learn from and to be examined on. */
function worldOf(seed: string): (fields: Readonly<Record<string, unknown>>) => DataConfig {
  const worldSeed = Number.parseInt(sha256(seed).slice(0, 8), 16);
  return (fields) => ({
    kind: 'world',
    preset: 'demo',
    world: { seed: worldSeed, sessionsPerUser: 3, ...fields },
  });
}
