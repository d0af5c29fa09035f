/** How much a directory holds, as `du` counts it without hard links. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

export async function directoryMegabytes(directory: string): Promise<number> {
  return Math.round((await bytesOf(directory)) / 2 ** 20);
}

async function bytesOf(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true });
  let total = 0;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    total += entry.isDirectory() ? await bytesOf(path) : (await lstat(path)).size;
  }
  return total;
}
