/** Temporary directories that name their process: a killed one cleans up nothing, so the next one does. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { isAlive, ownIdentity, processIdentitySchema } from './process-identity.ts';

export const OWNER_FILE = '.memwriter-owner';

/** The machine or container, too: its process ids say nothing elsewhere, and a temporary directory may be shared. */
const ownerSchema = processIdentitySchema.extend({ host: z.string() });

/** The caller removes it; `sweepAbandoned` does where the caller was killed. */
export function makeOwnedDirectory(parent: string, prefix: string): string {
  const directory = mkdtempSync(join(parent, prefix));
  const owner: z.infer<typeof ownerSchema> = { ...ownIdentity(), host: hostname() };
  writeFileSync(join(directory, OWNER_FILE), JSON.stringify(owner));
  return directory;
}

/** Removes what dead processes made here with this prefix; what tells no owner, or is another user's, it leaves alone. */
export async function sweepAbandoned(parent: string, prefix: string): Promise<void> {
  const names = (await unlessRefused(() => readdir(parent))) ?? [];
  for (const name of names.filter((one) => one.startsWith(prefix))) {
    const directory = join(parent, name);
    const text = await unlessRefused(() => readFile(join(directory, OWNER_FILE), 'utf8'));
    if (text === undefined || !isAbandoned(text)) continue;
    await unlessRefused(() => rm(directory, { recursive: true, force: true }));
  }
}

function isAbandoned(text: string): boolean {
  const owner = ownerSchema.safeParse(parsed(text));
  return owner.success && owner.data.host === hostname() && !isAlive(owner.data);
}

/** Undefined where it is half written. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** Not there any more, no directory, another user's, or just being written to by a child that is about to die. */
const REFUSALS = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ENOTEMPTY', 'EBUSY'];

async function unlessRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    if (!REFUSALS.includes(String(cause.code))) throw cause;
    return undefined;
  }
}
