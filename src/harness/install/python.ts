/** Finds a Python of the needed version on this machine, or says precisely what was found and what to install. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { UserError } from '../../lib/user-error.ts';
import type { PythonEnvironment } from '../bridge/contract.ts';

const run = promisify(execFile);

export interface Python {
  /** The interpreter itself: a version manager's shim would stand between us and the process. */
  readonly path: string;
  readonly version: string;
}

type Needs = Pick<PythonEnvironment, 'minimumPython' | 'belowPython'>;
type Version = readonly [number, number];

export class NoPythonError extends UserError {
  override readonly name = 'NoPythonError';
}

export interface PythonSearch {
  /** `MEMWRITER_PYTHON`: asked before all others, and an error when it does not fit. */
  readonly preferred: string | undefined;
  /** `PYENV_ROOT` */
  readonly pyenvRoot: string | undefined;
  readonly platform: NodeJS.Platform;
}

/** The first that fits: the preferred one, or `python3.x`, `python3` on the path, the launcher's (Windows), pyenv's. */
export async function findPython(needs: Needs, search: PythonSearch): Promise<Python> {
  const tried: string[] = [];
  for (const [command, ...args] of await candidates(needs, search)) {
    const python = await ask(command, args);
    if (python !== undefined && fits(python.version, needs)) return python;
    if (python !== undefined) tried.push(`${python.path} is ${python.version}`);
  }
  throw new NoPythonError(describeMissing(needs, tried, search));
}

export function fits(version: string, { minimumPython, belowPython }: Needs): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return !isBefore([major, minor], minimumPython) && isBefore([major, minor], belowPython);
}

export function describeMissing(
  { minimumPython, belowPython }: Needs,
  tried: readonly string[],
  { preferred, platform }: PythonSearch,
): string {
  const [major, minor] = [belowPython[0], belowPython[1] - 1];
  const how =
    platform === 'darwin'
      ? `brew install python@${major}.${minor}`
      : platform === 'win32'
        ? `winget install Python.Python.${major}.${minor}`
        : `your distribution's python${major}.${minor} with its venv package, or pyenv install ${major}.${minor}`;
  const found = tried.length === 0 ? 'none was found' : [...new Set(tried)].join(', ');
  const where = preferred === undefined ? '' : ` (MEMWRITER_PYTHON is ${preferred})`;
  return `Python ${minimumPython.join('.')} or newer, below ${belowPython.join('.')}, is needed; ${found}${where}. Install one: ${how}; or name one in MEMWRITER_PYTHON`;
}

type Candidate = readonly [command: string, ...args: string[]];

/** Oldest first: a lock's oldest Python is the one that every distribution in it has a wheel for. */
async function candidates(
  { minimumPython, belowPython }: Needs,
  { preferred, pyenvRoot, platform }: PythonSearch,
): Promise<Candidate[]> {
  if (preferred !== undefined) return [[preferred]];
  const count = belowPython[1] - minimumPython[1];
  const versions = Array.from({ length: count }, (_, i) => `3.${minimumPython[1] + i}`);
  const launched = platform === 'win32' ? versions : [];
  return [
    ...versions.map((version): Candidate => [`python${version}`]),
    ['python3'],
    ['python'],
    ...launched.map((version): Candidate => ['py', `-${version}`]),
    ...(await pyenvPythons(pyenvRoot)).map((path): Candidate => [path]),
  ];
}

async function pyenvPythons(root: string | undefined): Promise<string[]> {
  const versions = join(root ?? join(homedir(), '.pyenv'), 'versions');
  try {
    const names = await readdir(versions);
    return names.sort().map((name) => join(versions, name, 'bin', 'python'));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    throw cause;
  }
}

/** Undefined where there is no such command, or it is a stub that starts none. */
async function ask(command: string, args: readonly string[]): Promise<Python | undefined> {
  const program = 'import sys; print(sys.executable); print("%d.%d.%d" % sys.version_info[:3])';
  try {
    const { stdout } = await run(command, [...args, '-c', program], { timeout: 20_000 });
    const [path, version] = stdout.trim().split(/\r?\n/);
    return path === undefined || version === undefined ? undefined : { path, version };
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause) return undefined;
    throw cause;
  }
}

function isBefore(a: Version, b: Version): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}
