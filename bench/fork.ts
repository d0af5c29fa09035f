/** Bank fork against `cp -r` of the same closed directory, taking turns in one run. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createGateway } from '../src/gateway/gateway.ts';
import { createMem0Harness } from '../src/harness/adapters/mem0/adapter.ts';
import { forkBank } from '../src/harness/fork.ts';
import { scratchParent } from '../src/harness/scratch.ts';
import { createHashEmbedder } from '../src/llm/hash-embedder.ts';

const REPEATS = 60;
const MEMORIES = 100;

export interface ForkBench {
  readonly memories: number;
  readonly forkMs: number;
  /** `cp -r`, the start of the process included, as a script would call it. */
  readonly cpMs: number;
  readonly ratio: number;
}

export async function benchFork(): Promise<ForkBench> {
  const root = await mkdtemp(join(await scratchParent(), 'memwriter-fork-'));
  const bank = join(root, 'bank');
  await fillBank(bank);
  const forks: number[] = [];
  const copies: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    forks.push(await timed(() => forkBank(bank, join(root, `fork-${repeat}`))));
    copies.push(await timed(() => execFileSync('cp', ['-r', bank, join(root, `cp-${repeat}`)])));
  }
  await rm(root, { recursive: true });
  const [forkMs, cpMs] = [median(forks), median(copies)];
  return { memories: MEMORIES, forkMs, cpMs, ratio: forkMs / cpMs };
}

async function fillBank(dir: string): Promise<void> {
  await using gateway = await createGateway({ embedder: createHashEmbedder() });
  await using harness = await createMem0Harness();
  const texts = Array.from(
    { length: MEMORIES },
    (_, i) => `user's locker number ${i} is ${i * 37}`,
  );
  await using slot = gateway.openSlot({
    writer: { kind: 'scripted', reply: (stage) => stage.compose(texts) },
    stages: harness.stages,
    seed: 'fork',
  });
  const at = '2026-01-01T10:00:00Z';
  const bank = await harness.open({ dir, model: slot.model, embeddings: slot.embeddings, now: at });
  await bank.write({
    id: 'c0',
    userId: 'u',
    sessionId: 's',
    index: 0,
    at,
    scene: 'chat',
    messages: [{ id: 'm0', role: 'user', text: 'hello' }],
    tokens: 1,
    oversized: false,
  });
  await bank.close();
}

async function timed(run: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Number((sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(3));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.stdout.write(`${JSON.stringify({ bench: 'fork', ...(await benchFork()) })}\n`);
}
