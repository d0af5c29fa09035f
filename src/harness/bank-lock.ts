/** One open bank a directory: a lock file that names the holding process, and that a dead process's successor takes over. */
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { FaultError } from '../core/outcome.ts';
import { isAlive, ownIdentity, processIdentitySchema } from './process-identity.ts';

export const LOCK_FILE = 'bank.lock';

const holderSchema = processIdentitySchema.extend({ nonce: z.string() });

export interface BankLock {
  /** Removes the lock file. A second call does nothing. */
  release(): Promise<void>;
}

/** Rejects with a `FaultError` of boundary `store` while a living process holds the bank. */
export async function lockBank(dir: string): Promise<BankLock> {
  const path = join(dir, LOCK_FILE);
  const nonce = crypto.randomUUID();
  const holder = JSON.stringify({ ...ownIdentity(), nonce });
  const draft = `${path}.${nonce}`;
  await writeFile(draft, holder);
  try {
    // A link appears whole or not at all, so nobody reads half a lock.
    while (!(await tryLink(draft, path))) await removeStale(dir, draft);
  } finally {
    await rm(draft);
  }
  return { release: () => rm(path, { force: true }) };
}

/** True while a living process has the bank open. */
export async function isBankLocked(dir: string): Promise<boolean> {
  const text = await readIfPresent(join(dir, LOCK_FILE));
  return text !== undefined && isHeld(text);
}

/**
 * Removes the lock of a dead process. Whoever holds the guard is alone in doing so: what it read last is then still what
 * lies there, since a lock that is there cannot be replaced.
 */
async function removeStale(dir: string, draft: string): Promise<void> {
  const path = join(dir, LOCK_FILE);
  const guard = `${path}.takeover`;
  const text = await readIfPresent(path);
  if (text === undefined) return;
  if (isHeld(text)) throw new FaultError('store', `the bank in ${dir} is open elsewhere: ${text}`);
  if (!(await tryLink(draft, guard))) {
    throw new FaultError(
      'store',
      `the bank in ${dir} is being taken over from a dead process; if nobody is at it, remove ${guard}`,
    );
  }
  try {
    const latest = await readIfPresent(path);
    if (latest !== undefined && !isHeld(latest)) await rm(path);
  } finally {
    await rm(guard);
  }
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (cause) {
    if (hasCode(cause, 'EEXIST')) return false;
    throw cause;
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined;
    throw cause;
  }
}

function isHeld(text: string): boolean {
  return isAlive(holderSchema.parse(JSON.parse(text)));
}

function hasCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === code;
}
