/** Writes that survive a kill: whole files appear at once, lines are on disk before the call returns. */
import { cp, mkdir, open, readdir, readFile, rename, rm, truncate } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { mapAll } from '../lib/pool.ts';

/** Forces a file's or a directory's content to disk. */
async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Every file and folder under a directory, deepest first, then the directory itself. */
async function syncTree(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true });
  await mapAll(entries, async (entry) => {
    const path = join(directory, entry.name);
    await (entry.isDirectory() ? syncTree(path) : syncPath(path));
  });
  await syncPath(directory);
}

/** Temporary file, fsync, rename, fsync of the folder. */
export async function writeFileDurably(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.tmp`;
  const handle = await open(temporary, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
  await syncPath(dirname(path));
}

/** Fills a directory through `fill` and puts it in place at once; an older one of that name is replaced. */
export async function placeDirectory(
  target: string,
  fill: (temporary: string) => Promise<void>,
): Promise<void> {
  const parent = dirname(target);
  const temporary = join(parent, `.tmp-${basename(target)}`);
  await mkdir(parent, { recursive: true });
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary);
  await fill(temporary);
  await syncTree(temporary);
  await rm(target, { recursive: true, force: true });
  await rename(temporary, target);
  await syncPath(parent);
}

export async function copyDirectory(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, errorOnExist: true, force: false });
}

/** Appends one line and waits until it is on disk. Only for what the run's identity hangs on. */
export async function appendLine(path: string, value: unknown): Promise<void> {
  const handle = await open(path, 'a');
  try {
    await handle.writeFile(`${JSON.stringify(value)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Cuts off what follows the last line break: a record that a kill left half-written. Returns the bytes removed. */
export async function discardTornTail(path: string): Promise<number> {
  const bytes = await readFile(path);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole === bytes.length) return 0;
  await truncate(path, whole);
  await syncPath(path);
  return bytes.length - whole;
}
