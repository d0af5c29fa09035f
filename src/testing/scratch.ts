/** A test's own folder, in memory where the machine offers that: tests write a lot and flush everything. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { scratchParent } from '../harness/scratch.ts';

export interface Scratch extends AsyncDisposable {
  readonly path: string;
}

export async function createScratch(): Promise<Scratch> {
  const path = await mkdtemp(join(await scratchParent(), 'memwriter-test-'));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
