/** Locks keep two processes out of one bank; forks are whole copies of closed banks. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isBankLocked, LOCK_FILE, lockBank } from './bank-lock.ts';
import { forkBank } from './fork.ts';

let root = '';
let bank = '';

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-fork-'));
  bank = join(root, 'bank');
  await mkdir(join(bank, 'inner'), { recursive: true });
  await writeFile(join(bank, 'a.db'), 'a');
  await writeFile(join(bank, 'inner', 'b.db'), 'b');
});

afterEach(() => rm(root, { recursive: true }));

test('a second opener is refused until the first releases', async () => {
  const lock = await lockBank(bank);
  expect(await isBankLocked(bank)).toBe(true);
  await expect(lockBank(bank)).rejects.toMatchObject({ name: 'FaultError', boundary: 'store' });
  await lock.release();
  expect(await isBankLocked(bank)).toBe(false);
  await (await lockBank(bank)).release();
  expect(await readdir(bank)).toEqual(['a.db', 'inner']);
});

test('of many openers at once exactly one gets the bank', async () => {
  const attempts = await Promise.allSettled(Array.from({ length: 16 }, () => lockBank(bank)));
  expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('the lock of a dead process is taken over, by exactly one of many', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const dead = { pid: child.pid, startedAt: '', nonce: 'x' };
  await writeFile(join(bank, LOCK_FILE), JSON.stringify(dead));
  expect(await isBankLocked(bank)).toBe(false);
  const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => lockBank(bank)));
  expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await readdir(bank)).toEqual(['a.db', LOCK_FILE, 'inner']);
});

test('a process id that was used again does not keep a dead process alive', async () => {
  const reused = { pid: process.pid, startedAt: 'another boot:1', nonce: 'x' };
  await writeFile(join(bank, LOCK_FILE), JSON.stringify(reused));
  expect(await isBankLocked(bank)).toBe(false);
});

test('a fork is a whole copy without the lock of a dead holder', async () => {
  await writeFile(
    join(bank, LOCK_FILE),
    JSON.stringify({ pid: 2 ** 22, startedAt: '', nonce: 'x' }),
  );
  await forkBank(bank, join(root, 'forks', '0'));
  expect(await readdir(join(root, 'forks', '0'))).toEqual(['a.db', 'inner']);
  expect(await readFile(join(root, 'forks', '0', 'inner', 'b.db'), 'utf8')).toBe('b');
});

test('an open bank, an absent bank and an existing target are refused, and nothing is left behind', async () => {
  const target = join(root, 'fork');
  const fault = { name: 'FaultError', boundary: 'store' };
  await expect(forkBank(join(root, 'absent'), target)).rejects.toMatchObject(fault);
  const lock = await lockBank(bank);
  await expect(forkBank(bank, target)).rejects.toMatchObject(fault);
  await lock.release();
  await mkdir(target);
  await expect(forkBank(bank, target)).rejects.toMatchObject(fault);
  expect(await readdir(target)).toEqual([]);
  expect(await readdir(root)).toEqual(['bank', 'fork']);
});
