/** What the bridge costs: added time per write, forks of its banks, and memory and time of eight banks at once. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { harnessCache } from '../src/cli/harnesses.ts';
import type { Chunk } from '../src/core/conversation.ts';
import { createGateway } from '../src/gateway/gateway.ts';
import { hyMemoryChatSpec } from '../src/harness/adapters/hy-memory/adapter.ts';
import { mem0Spec2x } from '../src/harness/adapters/mem0-python/adapter.ts';
import { BridgeBank } from '../src/harness/bridge/bank.ts';
import type { BridgeSpec } from '../src/harness/bridge/contract.ts';
import { BRIDGES, bridgeVariables } from '../src/harness/bridge/environment-variables.ts';
import { createBridgeHarness } from '../src/harness/bridge/harness.ts';
import type { BridgeRuntime } from '../src/harness/bridge/process.ts';
import type { Bank, Harness } from '../src/harness/contract.ts';
import { forkBank } from '../src/harness/fork.ts';
import {
  environmentDirectory,
  interpreterOf,
  readInstalled,
} from '../src/harness/install/environment.ts';
import { scratchParent } from '../src/harness/scratch.ts';
import { createHashEmbedder } from '../src/llm/hash-embedder.ts';

const ROUNDS = 4;
const WRITES = 40;
const BANKS = 8;
const WINDOW = 4;
const FORKS = 20;
/** `USER_HZ`, which Linux fixes at 100. */
const TICKS_PER_S = 100;
const timedSpec: BridgeSpec = { ...mem0Spec2x, script: 'bench/bridge/timed_bridge.py' };
const AT = '2026-01-01T10:00:00Z';

export async function benchBridge() {
  const root = await mkdtemp(join(await scratchParent(), 'memwriter-bridge-bench-'));
  try {
    return {
      writes: await whereInstalled(mem0Spec2x, (runtime) => benchWrites(root, runtime)),
      group: await whereInstalled(hyMemoryChatSpec, (runtime) => benchGroup(root, runtime)),
    };
  } finally {
    await rm(root, { recursive: true });
  }
}

async function whereInstalled<T>(
  { environment }: BridgeSpec,
  bench: (runtime: BridgeRuntime) => Promise<T>,
): Promise<T | string> {
  const directory = await environmentDirectory(environment, harnessCache());
  if ((await readInstalled(directory)) === undefined) return `${environment.name} is not installed`;
  return await bench({ interpreter: interpreterOf(directory), environmentDirectory: directory });
}

/**
 * Goal: ≤ 2 ms added a write, told apart within each write by the process itself; between processes the same writes differ
 * by more than that. A script that calls the framework itself, in turns, shows that the framework is no slower in a bridge.
 */
async function benchWrites(root: string, runtime: BridgeRuntime) {
  await using gateway = await createGateway({ embedder: createHashEmbedder() });
  await using harness = createBridgeHarness(timedSpec, runtime);
  const bridged: number[] = [];
  const added: number[] = [];
  const direct: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await using slot = openSlot(gateway, harness, `writes-${round}`);
    const endpoints = { model: slot.model, embeddings: slot.embeddings };
    const request = { ...endpoints, dir: join(root, `direct-${round}`), now: AT, settings: {} };
    direct.push(...(await writeDirectly(runtime, request)));
    const bank = await harness.open({ ...endpoints, dir: join(root, `bridged-${round}`), now: AT });
    for (let turn = 0; turn < WRITES; turn++) {
      const startedAt = performance.now();
      const { sideEffects } = await bank.write(chunk(turn));
      const ms = performance.now() - startedAt;
      bridged.push(ms);
      added.push(ms - Number(sideEffects[0]?.added[0]));
    }
    await bank.close();
  }
  return {
    writes: ROUNDS * WRITES,
    bridgeMs: median(bridged),
    directMs: median(direct),
    addedMs: median(added),
  };
}

async function writeDirectly(runtime: BridgeRuntime, open: { readonly dir: string }) {
  const script = fileURLToPath(new URL('bridge/direct.py', import.meta.url));
  const chunks = Array.from({ length: WRITES }, (_, turn) => chunk(turn));
  const env = bridgeVariables({
    ...runtime,
    homeDirectory: `${open.dir}-home`,
    variables: mem0Spec2x.variables ?? {},
  });
  const input = JSON.stringify({ script: join(BRIDGES, '..', mem0Spec2x.script), open, chunks });
  const { stdout } = await promisify(execFile)(runtime.interpreter, [script, input], { env });
  return stdout.trim().split('\n').map(Number);
}

/**
 * Eight rollouts of one window over a model that answers at once. Goals: 3 GiB resident together; 1.3 times the time that
 * these cores need for the processes' own CPU seconds, imports included.
 */
async function benchGroup(root: string, runtime: BridgeRuntime) {
  await using gateway = await createGateway({ embedder: createHashEmbedder() });
  await using harness = createBridgeHarness(hyMemoryChatSpec, runtime);
  const parent = join(root, 'parent');
  {
    await using slot = openSlot(gateway, harness, 'parent');
    await using bank = await openBank(harness, slot, parent);
    await bank.write(chunk(0));
  }
  const forks = await timeForks(root, parent);
  const startedAt = performance.now();
  const used = await Promise.all(
    Array.from({ length: BANKS }, async (_, place) => {
      const dir = join(root, `member-${place}`);
      await forkBank(parent, dir);
      await using slot = openSlot(gateway, harness, `member-${place}`);
      await using bank = await openBank(harness, slot, dir);
      for (let turn = 1; turn <= WINDOW; turn++) {
        await bank.write(chunk(turn));
        await bank.list();
      }
      return await usageOf(bank);
    }),
  );
  const wallS = (performance.now() - startedAt) / 1000;
  const cpuS = sum(used.map(({ cpuSeconds }) => cpuSeconds));
  return {
    forks,
    banks: BANKS,
    residentMiB: sum(used.map(({ bytes }) => bytes)) / 2 ** 20,
    wallS,
    cpuS,
    timesCpuBound: wallS / (cpuS / cpus().length),
  };
}

async function timeForks(root: string, parent: string) {
  const forks: number[] = [];
  const copies: number[] = [];
  for (let repeat = 0; repeat < FORKS; repeat++) {
    forks.push(await timed(() => forkBank(parent, join(root, `fork-${repeat}`))));
    const copy = ['-r', parent, join(root, `cp-${repeat}`)];
    copies.push(await timed(async () => execFileSync('cp', copy)));
  }
  const [forkMs, cpMs] = [median(forks), median(copies)];
  return { forkMs, cpMs, ratio: forkMs / cpMs };
}

type Gateway = Awaited<ReturnType<typeof createGateway>>;
type Slot = ReturnType<Gateway['openSlot']>;

function openSlot(gateway: Gateway, { stages }: Harness, seed: string): Slot {
  let answers = 0;
  return gateway.openSlot({
    writer: {
      kind: 'scripted',
      reply: (stage) => stage.compose([`${seed}'s locker number ${answers} is ${answers++ * 37}`]),
    },
    stages,
    seed,
  });
}

function openBank(harness: Harness, slot: Slot, dir: string): Promise<Bank> {
  return harness.open({ dir, model: slot.model, embeddings: slot.embeddings, now: AT });
}

function chunk(turn: number): Chunk {
  return {
    id: `c${turn}`,
    userId: 'u',
    sessionId: 's',
    index: turn,
    at: AT,
    scene: 'chat',
    messages: [
      { id: `m${turn}`, role: 'user', text: `my locker has number ${turn}` },
      { id: `n${turn}`, role: 'assistant', text: 'good to know' },
    ],
    tokens: 20,
    oversized: false,
  };
}

/** Of the process that holds the bank, so far. Linux only. */
async function usageOf(bank: Bank) {
  if (!(bank instanceof BridgeBank)) throw new Error('only a bridge has a process of its own');
  const stat = await readFile(`/proc/${bank.pid}/stat`, 'utf8');
  const status = await readFile(`/proc/${bank.pid}/status`, 'utf8');
  const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return { bytes: kilobytes * 1024, cpuSeconds: sum([user, system]) / TICKS_PER_S };
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

function sum(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? Number.NaN), 0);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.stdout.write(`${JSON.stringify(await benchBridge(), null, 2)}\n`);
}
