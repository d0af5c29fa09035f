/** One process a run directory: a second one is refused by name, and a killed one's lock is taken over. */
import { readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { lock } from 'proper-lockfile';
import { z } from 'zod';
import { UserError } from '../lib/user-error.ts';
import { writeFileDurably } from './durable.ts';

/** Beyond this age a lock of another machine counts as left behind. */
const STALE_MS = 60_000;
const TAKEOVER_STALE_MS = 2_000;

const holderSchema = z.object({ pid: z.int(), host: z.string() });
type Holder = z.infer<typeof holderSchema>;

export class RunLockedError extends UserError {
  override readonly name = 'RunLockedError';
}

/** Resolves to the release function. Rejects with `RunLockedError` while another process holds the directory. */
export async function lockRun(directory: string): Promise<() => Promise<void>> {
  const release = await acquire(directory);
  await writeFileDurably(holderPath(directory), JSON.stringify(thisProcess()));
  return async () => {
    await rm(holderPath(directory), { force: true });
    await release();
  };
}

async function acquire(directory: string): Promise<() => Promise<void>> {
  try {
    return await lock(directory, lockOptions(directory));
  } catch (cause) {
    if (!isLocked(cause)) throw cause;
    return await takeOver(directory, cause);
  }
}

/** Two processes that find the same dead holder must not both take its place: the takeover has a lock of its own. */
async function takeOver(directory: string, cause: unknown): Promise<() => Promise<void>> {
  const endTakeover = await lock(join(directory, '.takeover'), {
    realpath: false,
    stale: TAKEOVER_STALE_MS,
    retries: { retries: 5, minTimeout: 500 },
  });
  try {
    const holder = await readHolder(directory);
    if (holder === undefined || !isDead(holder)) {
      const who =
        holder === undefined ? 'another process' : `process ${holder.pid} on ${holder.host}`;
      throw new RunLockedError(
        `${directory} is in use by ${who}: wait for it to end, or choose another run directory`,
        { cause },
      );
    }
    await rm(lockOptions(directory).lockfilePath, { recursive: true, force: true });
    return await lock(directory, lockOptions(directory));
  } finally {
    await endTakeover();
  }
}

function lockOptions(directory: string): { lockfilePath: string; stale: number } {
  return { lockfilePath: join(directory, '.lock'), stale: STALE_MS };
}

function holderPath(directory: string): string {
  return join(directory, '.lock-holder.json');
}

function thisProcess(): Holder {
  return { pid: process.pid, host: hostname() };
}

async function readHolder(directory: string): Promise<Holder | undefined> {
  try {
    return holderSchema.parse(JSON.parse(await readFile(holderPath(directory), 'utf8')));
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new UserError(`${holderPath(directory)} does not say who holds the run`, { cause });
  }
}

/** Only a process of this machine can be known to be dead. */
function isDead(holder: Holder): boolean {
  if (holder.host !== hostname()) return false;
  try {
    process.kill(holder.pid, 0);
    return false;
  } catch (cause) {
    if (hasCode(cause, 'ESRCH')) return true;
    if (hasCode(cause, 'EPERM')) return false;
    throw cause;
  }
}

function isLocked(cause: unknown): boolean {
  return hasCode(cause, 'ELOCKED');
}

export function isMissing(cause: unknown): boolean {
  return hasCode(cause, 'ENOENT');
}

function hasCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === code;
}
