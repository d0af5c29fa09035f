/** Makes a framework's environment from its lock: whole under its name, or not there. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PythonEnvironment } from '../bridge/contract.ts';
import { directoryMegabytes } from './directory-size.ts';
import {
  environmentDirectory,
  type Installed,
  interpreterOf,
  lockPath,
  RECORD_FILE,
  readInstalled,
} from './environment.ts';
import type { Python } from './python.ts';
import { type CommandOptions, runCommand } from './run-command.ts';
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
  { cache, python, onProgress, signal }: InstallParts,
): Promise<Installed> {
  const directory = await environmentDirectory(environment, cache);
  const present = await readInstalled(directory);
  if (present !== undefined) return present;
  const startedAt = performance.now();
  const draft = `${directory}.partial-${process.pid}`;
  await mkdir(dirname(directory), { recursive: true });
  try {
    const options = signal === undefined ? {} : { signal };
    await runCommand(python.path, ['-m', 'venv', draft], options);
    const total = await countPins(environment);
    const watch = setInterval(() => {
      void countDistributions(draft).then((done) => onProgress?.(Math.min(done, total), total));
    }, LOOK_MS);
    try {
      await runInstaller(environment, interpreterOf(draft), options);
    } finally {
      clearInterval(watch);
    }
    onProgress?.(total, total);
    await writeTokenizerFiles(environment.tiktoken, join(draft, 'tiktoken'));
    const installed: Installed = {
      package: environment.package,
      version: environment.version,
      python: python.version,
      seconds: Math.round((performance.now() - startedAt) / 1000),
      megabytes: await directoryMegabytes(draft),
    };
    await writeFile(join(draft, RECORD_FILE), JSON.stringify(installed));
    await rename(draft, directory);
    return installed;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Nothing that the lock does not name by hash. uv is several times faster than pip, so it is used where it is installed;
 * both read the same lock and the user's own index settings.
 */
async function runInstaller(
  environment: PythonEnvironment,
  interpreter: string,
  options: CommandOptions,
): Promise<void> {
  const locked = ['--quiet', '--require-hashes', '-r', lockPath(environment)];
  if (await isInstalled('uv')) {
    await runCommand('uv', ['pip', 'install', '--python', interpreter, ...locked], options);
  } else {
    const calm = ['--disable-pip-version-check', '--no-input'];
    await runCommand(interpreter, ['-m', 'pip', 'install', ...calm, ...locked], options);
  }
}

async function isInstalled(command: string): Promise<boolean> {
  try {
    await runCommand(command, ['--version']);
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return false;
    throw cause;
  }
}

async function countPins(environment: PythonEnvironment): Promise<number> {
  const lock = await readFile(lockPath(environment), 'utf8');
  return lock.split('\n').filter((line) => /^[A-Za-z0-9][\w.-]*==/.test(line)).length;
}

async function countDistributions(directory: string): Promise<number> {
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  return names.filter((name) => name.endsWith('.dist-info')).length;
}
