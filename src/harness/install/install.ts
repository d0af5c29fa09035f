/** Makes a framework's environment from its lock: whole under its name, or not there. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { PythonEnvironment } from '../bridge/contract.ts';
import { directoryMegabytes } from './directory-size.ts';
import { environmentDirectory, type Installed, RECORD_FILE, readInstalled } from './environment.ts';
import { countDistributions, countPins, installLocked } from './installer.ts';
import type { Python } from './python.ts';
import { writeTokenizerFiles } from './tokenizer-files.ts';

export interface InstallParts {
  /** Where environments are kept. */
  readonly cache: string;
  readonly python: Python;
  /** Distributions unpacked so far, of all that the lock pins. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

const LOOK_MS = 500;

/** Does nothing where the environment is there already. An interruption leaves nothing under its name. */
export async function installEnvironment(
  environment: PythonEnvironment,
  parts: InstallParts,
): Promise<Installed> {
  const directory = await environmentDirectory(environment, parts.cache);
  const present = await readInstalled(directory);
  if (present !== undefined) return present;
  await mkdir(dirname(directory), { recursive: true });
  await removeAbandoned(directory);
  const draft = `${directory}${DRAFT}${process.pid}`;
  try {
    const installed = await fillDraft(environment, draft, parts);
    return await keep(draft, directory, installed);
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function fillDraft(
  environment: PythonEnvironment,
  draft: string,
  { python, onProgress, signal }: InstallParts,
): Promise<Installed> {
  const startedAt = performance.now();
  const total = await countPins(environment);
  const look = async (): Promise<void> => {
    const done = await countDistributions(draft);
    if (done !== undefined) onProgress?.(done, total);
  };
  const watch = setInterval(() => void look(), LOOK_MS);
  const options = signal === undefined ? {} : { signal };
  try {
    await installLocked(environment, { python, directory: draft, options });
  } finally {
    clearInterval(watch);
  }
  onProgress?.(total, total);
  await writeTokenizerFiles(environment.tiktoken, join(draft, 'tiktoken'), options);
  const installed: Installed = {
    package: environment.package,
    version: environment.version,
    python: python.version,
    seconds: Math.round((performance.now() - startedAt) / 1000),
    megabytes: await directoryMegabytes(draft),
  };
  await writeFile(join(draft, RECORD_FILE), JSON.stringify(installed));
  return installed;
}

/** Bridges start the interpreter alone, which survives a new name; console scripts of a virtual environment would not. */
async function keep(draft: string, directory: string, installed: Installed): Promise<Installed> {
  try {
    await rename(draft, directory);
    return installed;
  } catch (cause) {
    // Another process was quicker: its environment is of the same lock.
    const present = await readInstalled(directory);
    if (present === undefined) throw cause;
    return present;
  }
}

const DRAFT = '.partial-';

/** What processes left that were killed while they installed. */
async function removeAbandoned(directory: string): Promise<void> {
  const prefix = `${basename(directory)}${DRAFT}`;
  for (const name of await readdir(dirname(directory))) {
    if (!name.startsWith(prefix) || isAlive(Number(name.slice(prefix.length)))) continue;
    await rm(join(dirname(directory), name), { recursive: true, force: true, maxRetries: 3 });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM';
  }
}
