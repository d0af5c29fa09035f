/** Where working banks lie: where the environment says, else where they are fastest. */
import { makeOwnedDirectory, sweepAbandoned } from '../harness/owned-directory.ts';
import { scratchParent } from '../harness/scratch.ts';

export async function scratchDirectory(): Promise<string> {
  return process.env['MEMWRITER_SCRATCH'] ?? (await scratchParent());
}

/** A new one for this process's banks; what killed processes left of this kind is removed first. The caller removes it. */
export async function newScratchDirectory(kind: 'banks' | 'check'): Promise<string> {
  const parent = await scratchDirectory();
  const prefix = `memwriter-${kind}-`;
  await sweepAbandoned(parent, prefix);
  return makeOwnedDirectory(parent, prefix);
}
