/** The packed tarball, installed in an empty folder as a stranger would, runs. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { intervalSchema, writerSummarySchema } from '../../src/bench/writer-summary.ts';

const execute = promisify(execFile);
const manifestSchema = z.object({ version: z.string(), exports: z.record(z.string(), z.string()) });

let root: string;
let folder: string;
let manifest: z.infer<typeof manifestSchema>;

beforeAll(async () => {
  manifest = manifestSchema.parse(JSON.parse(await readFile('package.json', 'utf8')));
  root = await mkdtemp(join(tmpdir(), 'memwriter-package-'));
  folder = join(root, 'empty');
  await mkdir(folder);
  await run('npm', ['pack', '--pack-destination', root], '.');
  const [tarball] = (await readdir(root)).filter((name) => name.endsWith('.tgz'));
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `../${tarball}`];
  await run('npm', ['init', '-y'], folder);
  await run('npm', install, folder);
});

afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

/** Rejects with what the command printed. */
async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const env = {
    ...process.env,
    // No GPU build; and SQLite as it was built for this checkout, so that it is not compiled a second time.
    ONNXRUNTIME_NODE_INSTALL: 'skip',
    npm_config_better_sqlite3_local_prebuilds: await localPrebuild(),
  };
  const { stdout } = await execute(command, [...args], { cwd, env, maxBuffer: 64 * 2 ** 20 });
  return stdout;
}

let prebuild: string | undefined;

async function localPrebuild(): Promise<string> {
  if (prebuild !== undefined) return prebuild;
  const sqlite = resolve('node_modules/better-sqlite3');
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(sqlite, 'package.json'), 'utf8')));
  const { platform, arch, versions } = process;
  const name = `better-sqlite3-v${version}-node-v${versions.modules}-${platform}-${arch}.tar.gz`;
  prebuild = join(root, 'prebuilds');
  await mkdir(prebuild);
  const binary = 'build/Release/better_sqlite3.node';
  await execute('tar', ['-czf', join(prebuild, name), '-C', sqlite, binary]);
  return prebuild;
}

function memwriter(...args: string[]): Promise<string> {
  return run('npx', ['--no', '--', 'memwriter', ...args], folder);
}

test('it says its version', async () => {
  expect((await memwriter('--version')).trim()).toBe(manifest.version);
});

test('doctor finds every part of it', async () => {
  const checks = z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() }));
  const stdout = await memwriter('doctor', '--json').catch(
    // Exit code 3 where something is missing: which part is the assertion's business.
    (error: unknown) => z.object({ stdout: z.string() }).parse(error).stdout,
  );
  const report = z.object({ ok: z.boolean(), checks }).parse(JSON.parse(stdout));
  const missing = report.checks.filter(({ ok }) => !ok).map(({ name }) => name);
  expect(missing).toEqual([]);
});

test('every subpath that it exports can be imported', async () => {
  const names = Object.keys(manifest.exports).filter((key) => !key.endsWith('.json'));
  const specifiers = (await Promise.all(names.map(expand))).flat();
  expect(specifiers.length).toBeGreaterThan(50);
  const script = `for (const name of ${JSON.stringify(specifiers)}) await import(name);`;
  await run('node', ['--input-type=module', '--eval', script], folder);
});

/** `./core/*` is every module of the folder. */
async function expand(key: string): Promise<string[]> {
  const name = key.replace(/^\./, 'memwriter');
  if (!name.endsWith('/*')) return [name];
  const files = await readdir(join(folder, 'node_modules/memwriter/dist', key.slice(2, -2)));
  return files
    .filter((file) => file.endsWith('.js'))
    .map((file) => name.replace('*', file.slice(0, -3)));
}

test('its modules carry their types', async () => {
  const source = `
    import type { Session } from 'memwriter/core/conversation';
    import { columnAdvantages } from 'memwriter/credit/advantages';
    import type { Harness } from 'memwriter/harness/contract';
    import { createGateway } from 'memwriter/gateway';
    export const session: Session = { id: 's', userId: 'u', at: '2024-05-08T20:15:00Z', scene: 'chat', messages: [] };
    export const open: Parameters<Harness['open']>[0]['dir'] = 'bank';
    export const parts: readonly Function[] = [columnAdvantages, createGateway];
    // @ts-expect-error: a session without an id is not a session
    export const wrong: Session = { userId: 'u', at: '', scene: 'chat', messages: [] };
  `;
  await writeFile(join(folder, 'check.mts'), source);
  const tsc = resolve('node_modules/typescript/bin/tsc');
  const types = resolve('node_modules/@types');
  const options = '--noEmit --strict --skipLibCheck --module nodenext --target es2023 --types node';
  await run('node', [tsc, ...options.split(' '), '--typeRoots', types, 'check.mts'], folder);
});

const writers = ['base', 'distilled', 'reinforced', 'teacher', 'empty', 'verbatim'] as const;
const differences = ['distilled-base', 'reinforced-distilled', 'reinforced-teacher'] as const;
const demoSchema = z.object({
  seed: z.string(),
  wallS: z.number().positive(),
  writers: z.record(z.enum(writers), writerSummarySchema),
  differences: z.record(z.enum(differences), intervalSchema),
  faults: z.literal(0),
  transfer: z.object({
    recallSeenForms: z.number().nullable(),
    recallHeldOutForms: z.number().nullable(),
  }),
});

test('the quick demo ends with the documented object', async () => {
  const lines = (await memwriter('demo', '--quick', '--json')).trim().split('\n');
  const result = demoSchema.parse(JSON.parse(lines.at(-1) ?? ''));
  expect(result.writers.empty.recall).toBe(0);
  expect(result.writers.verbatim.chunkScore.mean).toBeGreaterThan(
    result.writers.empty.chunkScore.mean,
  );
});
