import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BRIDGES } from '../bridge/environment-variables.ts';
import { cacheDirectory, environmentDirectory, RECORD_FILE, readInstalled } from './environment.ts';
import { countPins, namesOtherIndex } from './installer.ts';
import { renderRanks } from './tokenizer-files.ts';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-environment-'));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

const LOCK = 'six==1.17.0 \\\n    --hash=sha256:00\npywin32==312 ; sys_platform == "win32" \\\n';

async function environmentOf(lock: string): Promise<Parameters<typeof environmentDirectory>[0]> {
  const path = join(root, 'requirements.lock');
  await writeFile(path, lock);
  return {
    name: 'tiny',
    title: 'one package',
    package: 'six',
    version: '1.17.0',
    minimumPython: [3, 9],
    belowPython: [4, 0],
    lock: relative(join(BRIDGES, '..'), path),
    tiktoken: [],
    installedMegabytes: 1,
  };
}

test('the cache is our own variable, else the user’s cache, else the home; empty variables are unset', () => {
  expect(cacheDirectory({ home: '/a', userCache: '/b' })).toBe('/a');
  expect(cacheDirectory({ home: '', userCache: '/b' })).toBe('/b/memwriter');
  expect(cacheDirectory({ home: undefined, userCache: '' })).toBe(
    join(homedir(), '.cache', 'memwriter'),
  );
});

test('another lock is another environment', async () => {
  const first = await environmentDirectory(await environmentOf(LOCK), '/cache');
  const again = await environmentDirectory(await environmentOf(LOCK), '/cache');
  const other = await environmentDirectory(await environmentOf(`${LOCK}\n`), '/cache');
  expect(first).toMatch(/^\/cache\/harnesses\/tiny-[0-9a-f]{10}$/);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test('pins are counted, hashes are not', async () => {
  expect(await countPins(await environmentOf(LOCK))).toBe(2);
});

test('an environment without its record is not installed; a record that is not ours is no silence', async () => {
  expect(await readInstalled(root)).toBeUndefined();
  await writeFile(join(root, RECORD_FILE), '{"package":"six"}');
  await expect(readInstalled(root)).rejects.toThrow();
});

test('only another index in place of the public one makes pip do the work', () => {
  expect(namesOtherIndex("global.index-url='https://mirror.example/simple'\n")).toBe(true);
  expect(namesOtherIndex(":env:.index-url='https://mirror.example/simple'\n")).toBe(true);
  expect(namesOtherIndex("global.extra-index-url='https://mirror.example/simple'\n")).toBe(false);
  expect(namesOtherIndex('')).toBe(false);
});

test('ranks become one token a line, in their order', () => {
  expect(renderRanks('! 2 Yw== ZA==\n! 0 YQ== Yg==\n')).toBe('YQ== 0\nYg== 1\nYw== 2\nZA== 3\n');
});

test('every lock pins each distribution by hash', async () => {
  for (const lock of ['everos', 'hy-memory', 'memos', 'a-mem', 'memoryos']) {
    const text = await readFile(join(BRIDGES, lock, 'requirements.lock'), 'utf8');
    const entries = text.split(/\n(?=\S)/).filter((entry) => !entry.startsWith('#'));
    const bare = entries.filter((entry) => !entry.includes('--hash=sha256:'));
    expect(bare, lock).toEqual([]);
  }
});
