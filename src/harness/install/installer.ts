/** Puts a lock's distributions into an environment: by uv where it is installed, else by pip. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PythonEnvironment } from '../bridge/contract.ts';
import { interpreterOf, lockPath } from './environment.ts';
import type { Python } from './python.ts';
import { CommandError, type CommandOptions, runCommand } from './run-command.ts';

export interface InstallRequest {
  readonly python: Python;
  /** Where the environment is made. */
  readonly directory: string;
  readonly options: CommandOptions;
}

/**
 * Nothing that the lock does not name by hash, but for the setuptools that builds what has no wheel (jieba, langdetect).
 * uv is several times faster, but reads none of pip's settings: where pip is told of another index, as behind a company's
 * mirror, pip does it.
 */
export async function installLocked(
  environment: PythonEnvironment,
  { python, directory, options }: InstallRequest,
): Promise<void> {
  const interpreter = interpreterOf(directory);
  const locked = ['--quiet', '--require-hashes', '-r', lockPath(environment)];
  if (await prefersUv(python)) {
    await runCommand(python.path, ['-m', 'venv', '--without-pip', directory], options);
    // Bridges write nothing here: without bytecode each process would compile all that it imports.
    await runCommand(
      'uv',
      ['pip', 'install', '--compile-bytecode', '--python', interpreter, ...locked],
      options,
    );
  } else {
    await runCommand(python.path, ['-m', 'venv', directory], options);
    const calm = ['--disable-pip-version-check', '--no-input'];
    await runCommand(interpreter, ['-m', 'pip', 'install', ...calm, ...locked], options);
  }
}

async function prefersUv(python: Python): Promise<boolean> {
  const version = await outputOf('uv', ['--version']);
  if (version === undefined) return false;
  const settings = await outputOf(python.path, ['-m', 'pip', 'config', 'list']);
  return settings === undefined || !namesOtherIndex(settings);
}

/** Of what `pip config list` prints; further indexes and folders only add to the public one. */
export function namesOtherIndex(settings: string): boolean {
  return settings.split('\n').some((line) => /^\S+\.index-url=/.test(line));
}

/** Undefined where the command is absent or refuses, as a version manager's shim for a command it has not. */
async function outputOf(command: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return await runCommand(command, args);
  } catch (cause) {
    if (cause instanceof CommandError) return undefined;
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw cause;
  }
}

/** Distributions of every platform: fewer are installed on each. */
export async function countPins(environment: PythonEnvironment): Promise<number> {
  const lock = await readFile(lockPath(environment), 'utf8');
  return lock.split('\n').filter((line) => /^[A-Za-z0-9][\w.-]*==/.test(line)).length;
}

/** Undefined while there is no environment to look into. */
export async function countDistributions(directory: string): Promise<number | undefined> {
  try {
    const [packages] = await sitePackages(directory);
    if (packages === undefined) return undefined;
    return (await readdir(packages)).filter((name) => name.endsWith('.dist-info')).length;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw cause;
  }
}

async function sitePackages(directory: string): Promise<string[]> {
  if (process.platform === 'win32') return [join(directory, 'Lib', 'site-packages')];
  const library = join(directory, 'lib');
  const pythons = (await readdir(library)).filter((name) => name.startsWith('python'));
  return pythons.map((name) => join(library, name, 'site-packages'));
}
