/** A step's rollouts with simulated latencies against their critical path: does anything wait that need not? */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Window } from '../src/core/conversation.ts';
import type { Gateway, Slot } from '../src/gateway/contract.ts';
import type { Bank, Harness } from '../src/harness/contract.ts';
import { scratchParent } from '../src/harness/scratch.ts';
import { createPool } from '../src/lib/pool.ts';
import { createRng } from '../src/lib/rng.ts';
import { rollOutGroup } from '../src/rollout/group.ts';

const ROWS = 4;
const GROUP_SIZE = 8;
const CHUNKS = 5;
const MEAN_WRITE_MS = 60;
const MEAN_EXAM_MS = 80;
/** Median of this many repeats: the machine is rarely ours alone. */
const REPEATS = 5;
const GOAL = 1.05;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Heavy-tailed: one write in ten takes five times as long. */
function latencyMs(name: string, meanMs: number): number {
  const rng = createRng(`schedule/${name}`);
  return meanMs * (0.5 + rng.next()) * (rng.chance(0.1) ? 5 : 0.7);
}

function createWindow(row: number): Window {
  const at = '2024-05-08T20:15:00+02:00';
  const chunks = Array.from({ length: CHUNKS }, (_, index) => {
    const id = `w${row}c${index}`;
    return {
      id,
      userId: 'u',
      sessionId: 's',
      index,
      at,
      scene: 'chat' as const,
      messages: [],
      tokens: 1,
      oversized: false,
    };
  });
  return { id: `w${row}`, userId: 'u', index: 0, chunks };
}

/** The directory names row and rollout, so it decides the latency. */
function placeOf(directory: string): string {
  return directory.split('/').slice(-2).join('/');
}

const endpoint = { baseUrl: '', apiKey: '', model: 'none' };

const silentGateway: Gateway = {
  baseUrl: '',
  refusals: { count: 0, recent: [] },
  openSlot: (): Slot => ({
    model: endpoint,
    embeddings: { ...endpoint, dimensions: 1 },
    setPurpose: () => undefined,
    take: () => [],
    [Symbol.asyncDispose]: async () => undefined,
  }),
  [Symbol.asyncDispose]: async () => undefined,
};

const sleepyHarness: Harness = {
  configuration: 'sleepy',
  version: 'sleepy@1',
  stages: [],
  heldOut: false,
  requiredStages: [],
  scenes: ['chat'],
  sideEffects: [],
  open: async ({ dir }): Promise<Bank> => ({
    write: async ({ id }) => {
      await sleep(latencyMs(`${placeOf(dir)}/${id}`, MEAN_WRITE_MS));
      return { sideEffects: [] };
    },
    list: async () => [],
    retrieve: async () => '',
    contentHash: async () => 'empty',
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }),
  [Symbol.asyncDispose]: async () => undefined,
};

/** The slowest rollout, exam included: with room for all, nothing can be faster. */
function criticalPathMs(): number {
  const paths: number[] = [];
  for (let row = 0; row < ROWS; row++) {
    for (let i = 0; i < GROUP_SIZE; i++) {
      const place = `${row}/${i}`;
      const writes = createWindow(row).chunks.map(({ id }) =>
        latencyMs(`${place}/${id}`, MEAN_WRITE_MS),
      );
      const exam = latencyMs(`${place}/exam`, MEAN_EXAM_MS);
      paths.push(writes.reduce((sum, ms) => sum + ms, exam));
    }
  }
  return Math.max(...paths);
}

async function runOnceMs(root: string): Promise<number> {
  const pool = createPool(ROWS * GROUP_SIZE);
  const parts = { gateway: silentGateway, harness: sleepyHarness, pool, countTokens: () => 0 };
  const writer = { kind: 'scripted' as const, reply: () => '' };
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: ROWS }, (_, row) =>
      rollOutGroup(
        { ...parts, writer },
        {
          window: createWindow(row),
          sequence: 'u/0',
          parent: { kind: 'empty' },
          groupSize: GROUP_SIZE,
          seed: String(row),
          directory: join(root, String(row)),
        },
        async (_bank, { index }) => sleep(latencyMs(`${row}/${index}/exam`, MEAN_EXAM_MS)),
      ),
    ),
  );
  return performance.now() - startedMs;
}

export interface ScheduleBench {
  readonly rollouts: number;
  readonly chunks: number;
  readonly criticalPathMs: number;
  /** Wall time over critical path, median. Goal: ≤ 1.05. */
  readonly ratio: number;
  readonly ratios: readonly number[];
}

export async function benchSchedule(): Promise<ScheduleBench> {
  const root = await mkdtemp(join(await scratchParent(), 'memwriter-schedule-'));
  const pathMs = criticalPathMs();
  const ratios: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    ratios.push(Number(((await runOnceMs(root)) / pathMs).toFixed(3)));
  }
  await rm(root, { recursive: true, force: true });
  ratios.sort((a, b) => a - b);
  return {
    rollouts: ROWS * GROUP_SIZE,
    chunks: CHUNKS,
    criticalPathMs: Math.round(pathMs),
    ratio: ratios[Math.floor(ratios.length / 2)] ?? Number.NaN,
    ratios,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const result = await benchSchedule();
  process.stdout.write(
    `${JSON.stringify({ bench: 'schedule', ...result, goal: GOAL, met: result.ratio <= GOAL })}\n`,
  );
}
