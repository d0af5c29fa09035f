/** Mem0's TypeScript SDK, unmodified, as a harness. */
import { availableParallelism } from 'node:os';
import type { Harness } from '../../contract.ts';
import { openMem0Bank } from './bank.ts';
import { createWorkerPool } from './pool.ts';
import { mem0ExtractStage } from './stage.ts';

export interface Mem0HarnessOptions {
  /** Hits a block shows at most (the SDK's default is 20). */
  readonly topK?: number;
  /** Least cosine similarity of a hit; 0.1 is the SDK's default. */
  readonly threshold?: number;
  /** Deadline of each request to a bank's worker. */
  readonly timeoutMs?: number;
  /** Worker threads kept warm between banks; each holds some 30 MB. */
  readonly maxIdleWorkers?: number;
}

const FRAMEWORK = 'mem0ai@3.3.1';

export async function createMem0Harness({
  topK = 5,
  threshold = 0.1,
  timeoutMs = 300_000,
  maxIdleWorkers = 4 * availableParallelism(),
}: Mem0HarnessOptions = {}): Promise<Harness> {
  const pool = await createWorkerPool(maxIdleWorkers);
  return {
    configuration: 'mem0',
    version: FRAMEWORK,
    stages: [mem0ExtractStage],
    heldOut: false,
    scenes: ['chat', 'working', 'coding'],
    sideEffects: [],
    requiredStages: [mem0ExtractStage.name],
    open: (options) =>
      openMem0Bank(options, { framework: FRAMEWORK, pool, topK, threshold, timeoutMs }),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
