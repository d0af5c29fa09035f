/** What a killed process leaves behind is swept by the next one; what a living one works in is not. */
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScratch } from '../testing/scratch.ts';
import { makeOwnedDirectory, OWNER_FILE, sweepAbandoned } from './owned-directory.ts';

let root = '';
beforeEach(async () => {
  root = (await createScratch()).path;
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

/** As this process's own, with another owner. */
async function abandoned(change: object): Promise<string> {
  const directory = makeOwnedDirectory(root, 'home-');
  const owner = JSON.parse(await readFile(join(directory, OWNER_FILE), 'utf8'));
  await writeFile(join(directory, OWNER_FILE), JSON.stringify({ ...owner, ...change }));
  await mkdir(join(directory, 'full'));
  await writeFile(join(directory, 'full', 'of'), 'things');
  return basename(directory);
}

function deadPid(): number {
  const { pid } = spawnSync(process.execPath, ['--version']);
  return pid;
}

test('a dead owner’s directory is removed with all that is in it', async () => {
  await abandoned({ pid: deadPid() });
  await sweepAbandoned(root, 'home-');
  expect(await readdir(root)).toEqual([]);
});

test('an owner whose id another process has by now is dead', async () => {
  await abandoned({ startedAt: 'an earlier boot:17' });
  await sweepAbandoned(root, 'home-');
  expect(await readdir(root)).toEqual([]);
});

test('what is living, of another machine, or of nobody known stays', async () => {
  const [living, elsewhere] = [
    await abandoned({}),
    await abandoned({ pid: deadPid(), host: 'elsewhere' }),
  ];
  await mkdir(join(root, 'home-unmarked'));
  await mkdir(join(root, 'home-half-marked'));
  await writeFile(join(root, 'home-half-marked', OWNER_FILE), '{"pid":');
  await writeFile(join(root, 'home-file'), '');
  const kept = [living, elsewhere, 'home-unmarked', 'home-half-marked', 'home-file'];
  await sweepAbandoned(root, 'home-');
  expect((await readdir(root)).sort()).toEqual(kept.sort());
});

test('a directory of another prefix stays, and two may sweep at once', async () => {
  for (let i = 0; i < 5; i++) await abandoned({ pid: deadPid() });
  await mkdir(join(root, 'other'));
  await writeFile(
    join(root, 'other', OWNER_FILE),
    JSON.stringify({ pid: deadPid(), startedAt: '' }),
  );
  await Promise.all([sweepAbandoned(root, 'home-'), sweepAbandoned(root, 'home-')]);
  expect(await readdir(root)).toEqual(['other']);
});

test('a parent that is not there has nothing to sweep', async () => {
  await expect(sweepAbandoned(join(root, 'missing'), 'home-')).resolves.toBeUndefined();
});
