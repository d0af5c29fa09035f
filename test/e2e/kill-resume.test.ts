/** A training run of real parts, killed with SIGKILL at 20 random points, ends as the one that was not. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scratchParent } from '../../src/harness/scratch.ts';
import { sha256 } from '../../src/lib/hash.ts';
import { createRng } from '../../src/lib/rng.ts';
import { readSteps } from '../../src/store/read.ts';

const RUNS = 5;
const KILLS_PER_RUN = 4;

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(await scratchParent(), 'memwriter-kill-'));
  await small(['prepare', root]);
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

type Ending = { readonly kind: 'exited' } | { readonly kind: 'killed' };

/** Runs the small program; after `killAfterMs` of training it is killed without warning. */
async function small(args: readonly string[], killAfterMs?: number): Promise<Ending> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'test/e2e/kill-resume/small-run.ts', ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let errors = '';
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  child.stdout.once('data', () => {
    if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  });
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve({ kind: 'killed' });
      else if (code === 0) resolve({ kind: 'exited' });
      else reject(new Error(`small-run ended with ${code ?? signal}: ${errors}`));
    });
  });
}

/** sha256 of every file but times, events and the frameworks' own; banks are named by their content. */
async function identityOf(name: string): Promise<Record<string, string>> {
  const base = join(root, 'runs', name);
  const entries = await readdir(base, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !/^(times|events)\.jsonl$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.startsWith(join(base, 'banks')))
    .sort();
  const hashes = await Promise.all(
    files.map(async (path) => [path.slice(base.length), sha256(await readFile(path))] as const),
  );
  const banks = await readdir(join(base, 'banks'));
  return Object.fromEntries([...hashes, ['banks', banks.sort().join()]]);
}

test('20 kills change nothing', async () => {
  const startedMs = performance.now();
  await small(['train', root, 'whole']);
  const wallMs = performance.now() - startedMs;
  const whole = await identityOf('whole');
  const records = await readSteps(join(root, 'runs/whole'));
  expect(records.map(({ outcome }) => outcome.kind)).toEqual(Array(4).fill('updated'));

  const rng = createRng('kill-resume');
  let kills = 0;
  for (let run = 0; run < RUNS; run++) {
    const name = `killed-${run}`;
    for (let kill = 0; kill < KILLS_PER_RUN; kill++) {
      const ending = await small(['train', root, name], rng.next() * wallMs * 0.3);
      if (ending.kind === 'killed') kills += 1;
    }
    await small(['train', root, name]);
    expect(await identityOf(name)).toEqual(whole);
  }
  expect(kills).toBeGreaterThanOrEqual(15);
});
