/** A test's own folder, in memory where the machine offers that: tests write a lot and flush everything. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';

export interface Scratch extends AsyncDisposable {
  readonly path: string;
}

export async function createScratch(): Promise<Scratch> {
  const path = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'memwriter-test-'));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
