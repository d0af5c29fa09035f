/** `memwriter harness`: what is installed, what is missing; an install that is killed leaves nothing half made. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type CommandResult, startCommand } from './support/command-line.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'memwriter-harness-'));
});
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

function harness(...argv: string[]): Promise<CommandResult> {
  return startCommand(['harness', ...argv], { MEMWRITER_HOME: home }).ended;
}

test('list and doctor say what is missing and how to get it, with exit code 3', async () => {
  const list = await harness('list', '--json');
  const listed = z.object({ harnesses: z.array(z.looseObject({ installed: z.boolean() })) });
  expect(list.exitCode).toBe(0);
  expect(listed.parse(JSON.parse(list.stdout)).harnesses).toContainEqual(
    expect.objectContaining({ configuration: 'mem0:1x', environment: 'mem0-1x', installed: false }),
  );
  const doctor = await harness('doctor', 'mem0-1x');
  expect(doctor.exitCode).toBe(3);
  expect(doctor.stdout).toContain('missing mem0-1x: not installed');
});

test('an unknown framework is bad input, and the known ones are named', async () => {
  const { exitCode, stderr } = await harness('add', 'mem9');
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/no framework "mem9" to install; there are .*mem0-1x/);
});

test('a configuration whose framework is not installed is one sentence and exit code 3', async () => {
  const policy = ['--set', 'writers={}', '--harness', 'mem0:1x'];
  const { exitCode, stderr } = await startCommand(['eval', ...policy], { MEMWRITER_HOME: home })
    .ended;
  expect(exitCode).toBe(3);
  expect(stderr.trim()).toBe('memwriter: mem0:1x is not installed: memwriter harness add mem0-1x');
});

test('what is held out is trained in only when told twice', async () => {
  const told = ['--set', 'train.allowHeldOut=["mem0"]', '--run', join(home, 'run')];
  const { exitCode, stderr } = await startCommand(['train', 'opd', ...told]).ended;
  expect(exitCode).toBe(2);
  expect(stderr).toContain('give --train-held-out too');
});

test('a Python that does not fit is refused by name', async () => {
  const { ended } = startCommand(['harness', 'add', 'mem0-1x', '--json'], {
    MEMWRITER_HOME: home,
    MEMWRITER_PYTHON: process.execPath,
  });
  const { exitCode, stdout } = await ended;
  expect(exitCode).toBe(3);
  expect(stdout).toContain('Python 3.11 or newer');
  expect(stdout).toContain(`MEMWRITER_PYTHON is ${process.execPath}`);
});

test('killed in mid-install, it leaves no environment; run again, it is whole, and once more does nothing', async () => {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'src/cli/main.ts', 'harness', 'add', 'mem0-1x'],
    { env: { ...process.env, MEMWRITER_HOME: home }, stdio: 'ignore', detached: true },
  );
  const { pid } = child;
  if (pid === undefined) throw new Error('the command did not start');
  const closed = once(child, 'close');
  const kept = join(home, 'harnesses');
  await until(async () => (await entries(kept)).some((name) => name.includes('.partial-')));
  process.kill(-pid, 'SIGKILL');
  await closed;
  expect((await entries(kept)).filter((name) => !name.includes('.partial-'))).toEqual([]);
  expect((await harness('doctor', 'mem0-1x')).exitCode).toBe(3);

  const added = await harness('add', 'mem0-1x', '--json');
  expect(added.exitCode, added.stderr).toBe(0);
  expect(added.stderr).toMatch(/mem0-1x: \d+ MB in \d+ s/);
  expect(await entries(kept)).toEqual([expect.stringMatching(/^mem0-1x-[0-9a-f]{10}$/)]);
  const again = await harness('add', 'mem0-1x');
  expect(again.stderr).toContain('installed already');
  expect((await harness('doctor', 'mem0-1x')).exitCode).toBe(0);
});

test('Ctrl-C in mid-install leaves nothing at all', async () => {
  const other = join(home, 'interrupted');
  const running = startCommand(['harness', 'add', 'mem0-2x'], { MEMWRITER_HOME: other });
  const kept = join(other, 'harnesses');
  await until(async () => (await entries(kept)).some((name) => name.includes('.partial-')));
  running.interrupt();
  expect((await running.ended).exitCode).toBe(130);
  expect(await entries(kept)).toEqual([]);
});

async function entries(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    throw cause;
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await setTimeout(5);
}
