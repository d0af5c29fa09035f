import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeMissing, findPython, fits, NoPythonError } from './python.ts';

const needs = { minimumPython: [3, 12], belowPython: [3, 14] } as const;
let root = '';

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-python-'));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

/** Answers as an interpreter does that is asked what it is. */
async function pretendPython(path: string, version: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "${path}"\necho "${version}"\n`);
  await chmod(path, 0o755);
  return path;
}

test('versions are compared as numbers, the upper one is left out', () => {
  expect(fits('3.12.0', needs)).toBe(true);
  expect(fits('3.13.9', needs)).toBe(true);
  expect(fits('3.9.18', needs)).toBe(false);
  expect(fits('3.14.0', needs)).toBe(false);
  expect(fits('2.7.18', needs)).toBe(false);
});

test('the preferred interpreter is taken when it fits', async () => {
  const path = await pretendPython(join(root, 'new/python'), '3.12.4');
  const search = { preferred: path, pyenvRoot: undefined, platform: 'linux' } as const;
  expect(await findPython(needs, search)).toEqual({ path, version: '3.12.4' });
});

test('a preferred interpreter that does not fit is an error that names it, not a silent other choice', async () => {
  const path = await pretendPython(join(root, 'old/python'), '3.8.1');
  const search = { preferred: path, pyenvRoot: undefined, platform: 'linux' } as const;
  const rejected = expect(findPython(needs, search)).rejects;
  await rejected.toBeInstanceOf(NoPythonError);
  await expect(findPython(needs, search)).rejects.toThrow(`${path} is 3.8.1`);
});

test('what is said where none fits: what is needed, what was found, how to get one', () => {
  const search = { preferred: undefined, pyenvRoot: undefined } as const;
  const tried = ['/usr/bin/python3 is 3.11.2', '/usr/bin/python3 is 3.11.2'];
  expect(describeMissing(needs, tried, { ...search, platform: 'darwin' })).toBe(
    'Python 3.12 or newer, below 3.14, is needed; /usr/bin/python3 is 3.11.2. Install one: brew install python@3.13; or name one in MEMWRITER_PYTHON',
  );
  expect(describeMissing(needs, [], { ...search, platform: 'linux' })).toContain('none was found');
  expect(describeMissing(needs, [], { ...search, platform: 'win32' })).toContain('winget install');
});
