/** The bridge against real Python processes: noise, hangs, deaths and lies of a framework end as attributed faults. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Chunk } from '../../src/core/conversation.ts';
import { FaultError } from '../../src/core/outcome.ts';
import { type BridgeBank, openBridgeBank } from '../../src/harness/bridge/bank.ts';
import type { BridgeSpec } from '../../src/harness/bridge/contract.ts';
import { BridgePool, type Kind } from '../../src/harness/bridge/pool.ts';
import { BridgeProcess } from '../../src/harness/bridge/process.ts';
import { forkBank } from '../../src/harness/fork.ts';
import { createScratch } from '../../src/testing/scratch.ts';

const interpreter = findPython();
const describeWithPython = interpreter === undefined ? describe.skip : describe;

const DAY = '2024-05-08T20:15:00+02:00';
const spec: BridgeSpec = {
  configuration: 'fake',
  environment: {
    name: 'fake',
    title: 'a framework for tests',
    package: 'fake-framework',
    version: 'source',
    minimumPython: [3, 9],
    belowPython: [4, 0],
    lock: '',
    tiktoken: [],
    installedMegabytes: 0,
  },
  script: 'test/harnesses/bridge/fake_bridge.py',
  settings: {},
  stages: [],
  heldOut: false,
  requiredStages: [],
  scenes: ['chat'],
  sideEffects: ['counted'],
  residentMegabytes: 20,
};
const endpoint = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'key', model: 'writer' };

let root = '';
let banks = 0;
let pool: BridgePool;
const opened: BridgeBank[] = [];
beforeAll(async () => {
  root = (await createScratch()).path;
  pool = new BridgePool();
});
afterEach(async () => {
  for (const bank of opened.splice(0)) await bank.close().catch(() => undefined);
});
afterAll(async () => {
  await pool[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

describeWithPython('a bridge', () => {
  test('keeps a framework’s noise out of its frames and carries any text', async () => {
    const bank = await open();
    const text = `emoji 🐱, עברית, é, \u0000, ${'long '.repeat(200_000)}`;
    expect(await bank.write(chunk(text))).toEqual({
      sideEffects: [{ name: 'counted', removed: [], added: ['1'] }],
    });
    expect(await bank.list()).toEqual([{ id: '0', text: `2024-05-08 ${text}`, store: 'memory' }]);
  });

  test('ten megabytes, and half a surrogate pair, go through and come back', async () => {
    const bank = await open();
    const texts = ['half \ud83d of a pair', 'x'.repeat(10 * 2 ** 20)];
    await bank.write({ ...chunk(''), messages: texts.map(message) });
    expect((await bank.list()).map(({ text }) => text.slice(11))).toEqual(texts);
    expect(await bank.contentHash()).toMatch(/^[0-9a-f]{64}$/);
  });

  test('banks written at the same time keep to themselves', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const listed = await Promise.all(
      names.map(async (name) => {
        const bank = await open();
        for (let turn = 0; turn < 5; turn++) await bank.write(chunk(`${name}${turn}`));
        return (await bank.list()).map(({ text }) => text.slice(11));
      }),
    );
    expect(listed).toEqual(names.map((name) => [0, 1, 2, 3, 4].map((turn) => name + turn)));
  });

  test('a closed bank’s directory is a fork’s source; the copies then differ', async () => {
    const dir = newDir();
    const bank = await open({ dir });
    await bank.write(chunk('one'));
    const hash = await bank.contentHash();
    await bank.close();
    const copy = newDir();
    await forkBank(dir, copy);
    const [again, fork] = [await open({ dir }), await open({ dir: copy })];
    expect([await again.contentHash(), await fork.contentHash()]).toEqual([hash, hash]);
    await fork.write(chunk('two'));
    expect(await again.contentHash()).toBe(hash);
    expect(await fork.contentHash()).not.toBe(hash);
  });

  test('a typed error has its boundary; the bank goes on', async () => {
    const bank = await open();
    await expect(bank.write(chunk('refuse'))).rejects.toMatchObject({ boundary: 'store' });
    const unspeakable = bank.write(chunk('unspeakable'));
    await expect(unspeakable).rejects.toThrow('TypeError: Object of type object is not JSON');
    await bank.write(chunk('fine'));
    expect(await bank.list()).toHaveLength(1);
  });

  test('a request past its deadline kills the process and says so', async () => {
    const bank = await open({ timeoutMs: 300 });
    const failure = await faultOf(bank.write(chunk('hang')));
    expect(failure.boundary).toBe('harness');
    expect(failure.message).toContain('"write" took longer than 0.3 s');
    await expect(bank.list()).rejects.toThrow('took longer');
  });

  test('an open that hangs frees the directory', async () => {
    const dir = newDir();
    const hanging = { ...spec, settings: { trouble: 'hang-open' } };
    await expect(open({ dir, spec: hanging, openTimeoutMs: 1500 })).rejects.toThrow('"open" took');
    await (await open({ dir })).write(chunk('free'));
  });

  test('a process that dies in mid-write, or is killed, is a fault that names its end', async () => {
    const bank = await open();
    await expect(bank.write(chunk('die'))).rejects.toThrow('exit code 3');
    const lingering = await open();
    await expect(lingering.write(chunk('linger'))).rejects.toThrow('exit code 4');
    const dir = newDir();
    const killed = await open({ dir });
    await killed.write(chunk('kept'));
    const writing = faultOf(killed.write(chunk('hang')));
    process.kill(killed.pid ?? 0, 'SIGKILL');
    expect((await writing).message).toContain('SIGKILL');
    await killed.close();
    expect(await (await open({ dir })).list()).toHaveLength(1);
  });

  test('a listing that is shorter than the store’s count is a fault of the store', async () => {
    const capped = { ...spec, settings: { trouble: 'cap' } };
    const bank = await open({ spec: capped });
    await bank.write({ ...chunk('one'), messages: [message('one'), message('two')] });
    await expect(bank.list()).rejects.toThrow('1 memories listed, and the store holds 2');
  });

  test('another package version, or no hello at all, is refused', async () => {
    const other = { ...spec, environment: { ...spec.environment, version: '2.0' } };
    await expect(open({ spec: other })).rejects.toThrow('knows fake-framework 2.0');
    const broken = { ...spec, script: 'test/harnesses/bridge/broken_bridge.py' };
    await expect(open({ spec: broken })).rejects.toThrow('no frame: Welcome to BrokenFramework');
    const absent = { ...kindOf(spec), runtime: { ...kindOf(spec).runtime, interpreter: '/no' } };
    await expect(openKind(newDir(), absent)).rejects.toThrow('does not run');
  });

  test('one bank a directory, and a bank keeps to its embedder', async () => {
    const dir = newDir();
    const bank = await open({ dir });
    await expect(open({ dir })).rejects.toThrow('is open elsewhere');
    await bank.close();
    await bank.close();
    await expect(bank.list()).rejects.toThrow('the bank is closed');
    await expect(openKind(dir, kindOf(spec), { dimensions: 7 })).rejects.toThrow('was built with');
  });

  test('a chunk of a scene that is not the configuration’s is refused before any call', async () => {
    const bank = await open();
    await expect(bank.write({ ...chunk('x'), scene: 'coding' })).rejects.toThrow('takes chat');
  });

  test('an abort ends the process at once', async () => {
    const controller = new AbortController();
    const bank = await openKind(newDir(), kindOf(spec), { signal: controller.signal });
    const writing = faultOf(bank.write(chunk('hang')));
    controller.abort();
    expect((await writing).message).toContain('it was aborted');
    const late = openKind(newDir(), kindOf(spec), { signal: controller.signal });
    await expect(late).rejects.toBeInstanceOf(FaultError);
  });

  test('a framework that fixes its day at import gets a new process when the day changes', async () => {
    const restarting = { ...spec, restartsOnNewDay: true };
    const bank = await open({ spec: restarting });
    await bank.write(chunk('one'));
    const first = bank.pid;
    await bank.write({ ...chunk('two'), at: '2024-05-09T08:00:00+02:00' });
    expect(bank.pid).not.toBe(first);
    expect((await bank.list()).map(({ text }) => text)).toEqual([
      '2024-05-08 one',
      '2024-05-09 two',
    ]);
  });

  test('no more processes live than memory is planned for; the others wait their turn', async () => {
    const small = new BridgePool({ budgetBytes: 50 * 2 ** 20, warm: 1 });
    let most = 0;
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        const bank = await openKind(newDir(), kindOf(spec), { pool: small });
        most = Math.max(most, small.liveProcesses);
        await bank.write(chunk('x'));
        await bank.close();
      }),
    );
    expect(most).toBeLessThanOrEqual(2);
    await small[Symbol.asyncDispose]();
    expect(small.liveProcesses).toBe(0);
  });

  test('a process does not outlive a parent that is killed, whatever it is at', async () => {
    const dir = newDir();
    const script = fileURLToPath(new URL('bridge/hanging-parent.ts', import.meta.url));
    const command = ['--import', 'tsx', script, dir, JSON.stringify(kindOf(spec))];
    const temporary = newDir();
    await mkdir(temporary);
    vi.stubEnv('TMPDIR', temporary);
    const parent = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
    vi.unstubAllEnvs();
    const [said] = await once(parent.stdout, 'data');
    const pid = Number(String(said));
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 10_000 });
    expect(await (await open({ dir })).list()).toEqual([]);
    // Its home is the next one's to sweep.
    const homes = async () => (await readdir(temporary)).filter((one) => /-bridge-/.test(one));
    expect(await homes()).toHaveLength(1);
    vi.stubEnv('TMPDIR', temporary);
    await using swept = new BridgePool({ warm: 0 });
    await (await openKind(newDir(), kindOf(spec), { pool: swept })).close();
    await vi.waitFor(async () => expect(await homes()).toEqual([]), { timeout: 10_000 });
    vi.unstubAllEnvs();
  });

  test('a process leaves when its input ends', async () => {
    const started = BridgeProcess.start(spec, kindOf(spec).runtime);
    expect(await started.stop()).toBe('by itself');
    expect(started.alive).toBe(false);
  });
});

interface Opening {
  readonly dir?: string;
  readonly spec?: BridgeSpec;
  readonly openTimeoutMs?: number;
  readonly timeoutMs?: number;
}

async function open({ dir = newDir(), spec: own = spec, ...timeouts }: Opening = {}) {
  return await openKind(dir, kindOf(own), timeouts);
}

interface Details {
  readonly pool?: BridgePool;
  readonly dimensions?: number;
  readonly signal?: AbortSignal;
  readonly openTimeoutMs?: number;
  readonly timeoutMs?: number;
}

async function openKind(dir: string, kind: Kind, details: Details = {}): Promise<BridgeBank> {
  const { dimensions = 8, signal, pool: own = pool, ...timeouts } = details;
  const bank = await openBridgeBank(
    {
      dir,
      model: endpoint,
      embeddings: { ...endpoint, dimensions },
      now: DAY,
      ...(signal && { signal }),
    },
    {
      pool: own,
      kind,
      framework: 'fake',
      topK: 5,
      openTimeoutMs: 20_000,
      timeoutMs: 20_000,
      ...timeouts,
    },
  );
  opened.push(bank);
  return bank;
}

function kindOf(own: BridgeSpec): Kind {
  return { spec: own, runtime: { interpreter: interpreter ?? '', environmentDirectory: root } };
}

async function faultOf(work: Promise<unknown>): Promise<FaultError> {
  const failure = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (failure instanceof FaultError) return failure;
  throw new Error(`expected a fault, not ${String(failure)}`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function newDir(): string {
  return join(root, String(banks++));
}

function message(text: string) {
  return { id: text, role: 'user' as const, text };
}

function chunk(text: string): Chunk {
  return {
    id: 'c',
    userId: 'ann',
    sessionId: 's',
    index: 0,
    at: DAY,
    scene: 'chat',
    messages: [message(text)],
    tokens: 1,
    oversized: false,
  };
}

/** The interpreter itself: a shim would stand between us and the process. */
function findPython(): string | undefined {
  try {
    const print = 'import sys; print(sys.executable)';
    return execFileSync('python3', ['-c', print], { encoding: 'utf8' }).trim();
  } catch (cause) {
    process.stderr.write(`no python3: the bridge's tests are skipped (${String(cause)})\n`);
    return undefined;
  }
}
