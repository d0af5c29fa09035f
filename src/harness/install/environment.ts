/** Where a framework's environment lies, and whether it is whole. */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../lib/hash.ts';
import type { PythonEnvironment } from '../bridge/contract.ts';
import { BRIDGES } from '../bridge/environment-variables.ts';

const installedSchema = z.strictObject({
  package: z.string(),
  version: z.string(),
  python: z.string(),
  seconds: z.number(),
  megabytes: z.number(),
});
export type Installed = z.infer<typeof installedSchema>;

export const RECORD_FILE = 'memwriter.json';

export interface CachePlace {
  /** `MEMWRITER_HOME` */
  readonly home: string | undefined;
  /** `XDG_CACHE_HOME` */
  readonly userCache: string | undefined;
}

/** An empty variable counts as unset, as everywhere. */
export function cacheDirectory({ home, userCache }: CachePlace): string {
  return home || join(userCache || join(homedir(), '.cache'), 'memwriter');
}

/** A changed lock is another environment: its hash is in the name. */
export async function environmentDirectory(
  environment: PythonEnvironment,
  cache: string,
): Promise<string> {
  const lock = await readFile(lockPath(environment), 'utf8');
  return join(cache, 'harnesses', `${environment.name}-${sha256(lock).slice(0, 10)}`);
}

export function lockPath({ lock }: PythonEnvironment): string {
  return join(BRIDGES, '..', lock);
}

export function interpreterOf(directory: string): string {
  return process.platform === 'win32'
    ? join(directory, 'Scripts', 'python.exe')
    : join(directory, 'bin', 'python');
}

/** Undefined where it is absent; an environment is written last of all, so half of one has no record. */
export async function readInstalled(directory: string): Promise<Installed | undefined> {
  try {
    return installedSchema.parse(JSON.parse(await readFile(join(directory, RECORD_FILE), 'utf8')));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw cause;
  }
}
