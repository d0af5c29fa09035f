/** `memwriter harness`: installs the Python frameworks, says which are there, and what is missing. */
import type { Command } from 'commander';
import type { PythonEnvironment } from '../harness/bridge/contract.ts';
import {
  environmentDirectory,
  type Installed,
  interpreterOf,
  readInstalled,
} from '../harness/install/environment.ts';
import { installEnvironment } from '../harness/install/install.ts';
import { countPins } from '../harness/install/installer.ts';
import { findPython, NoPythonError, type Python } from '../harness/install/python.ts';
import { runCommand } from '../harness/install/run-command.ts';
import { BadInputError, EXIT } from './exit-codes.ts';
import { registerHarnessCheck } from './harness-check.ts';
import { BRIDGE_SPECS, ENVIRONMENTS, harnessCache } from './harnesses.ts';
import { catchInterrupt } from './interrupt.ts';
import { startProgress } from './progress.ts';

interface Flags {
  readonly json?: boolean;
}

export function registerHarness(program: Command): void {
  const harness = program
    .command('harness')
    .description('install memory frameworks, and see which are there')
    .addHelpText(
      'after',
      `
Examples:
  memwriter harness list
  memwriter harness add mem0-1x
  memwriter harness doctor mem0-1x
  memwriter harness check mem0:1x`,
    );
  harness
    .command('add <name...>')
    .description(
      'make a virtual environment from a lock with hashes; `all` leaves out optional ones',
    )
    .option('--json', 'print one JSON object on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  memwriter harness add hy-memory\n  memwriter harness add all --json',
    )
    .action(runAdd);
  harness
    .command('list')
    .description('configurations, their frameworks, and what is installed')
    .option('--json', 'print one JSON object on standard output')
    .addHelpText('after', '\nExamples:\n  memwriter harness list')
    .action(runList);
  harness
    .command('doctor [name...]')
    .description('say what is missing and how to get it')
    .option('--json', 'print one JSON object on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  memwriter harness doctor\n  memwriter harness doctor everos --json',
    )
    .action(runDoctor);
  registerHarnessCheck(harness);
}

interface Added extends Installed {
  readonly name: string;
}

/** One that cannot be had on this machine holds up no other; the exit code tells. */
async function runAdd(names: readonly string[], { json }: Flags): Promise<void> {
  const environments = environmentsOf(names);
  using interrupt = catchInterrupt('nothing half made is left; run the same command again');
  const added: Added[] = [];
  const missing: { readonly name: string; readonly reason: string }[] = [];
  for (const environment of environments) {
    const { name } = environment;
    try {
      added.push({ name, ...(await add(environment, interrupt.signal)) });
    } catch (cause) {
      if (!(cause instanceof NoPythonError)) throw cause;
      missing.push({ name, reason: cause.message });
      process.stderr.write(`${name}: ${cause.message}\n`);
    }
  }
  if (json === true) process.stdout.write(`${JSON.stringify({ added, missing })}\n`);
  if (missing.length > 0) process.exitCode = EXIT.missing;
}

async function add(environment: PythonEnvironment, signal: AbortSignal): Promise<Installed> {
  const { name, package: distribution, version, installedMegabytes } = environment;
  const present = await readInstalled(await environmentDirectory(environment, harnessCache()));
  if (present !== undefined) {
    process.stderr.write(`${name}: installed already, ${present.megabytes} MB\n`);
    return present;
  }
  const python = await pythonFor(environment);
  process.stderr.write(
    `${name}: ${distribution} ${version} with Python ${python.version}, about ${installedMegabytes} MB\n`,
  );
  const progress = startProgress({ label: name, total: await countPins(environment) });
  try {
    const installed = await installEnvironment(environment, {
      cache: harnessCache(),
      python,
      signal,
      onProgress: (done) => progress.update(done, 'packages'),
    });
    progress.line(`${name}: ${installed.megabytes} MB in ${installed.seconds} s`);
    return installed;
  } finally {
    progress.stop();
  }
}

interface Row {
  readonly configuration: string;
  readonly framework: string;
  readonly environment: string;
  readonly heldOut: boolean;
  /** Left out by `harness add all`. */
  readonly optional: boolean;
  readonly installed: boolean;
}

async function runList({ json }: Flags): Promise<void> {
  const rows: Row[] = [
    {
      configuration: 'mem0',
      framework: 'mem0ai, in this process',
      environment: '',
      heldOut: false,
      optional: false,
      installed: true,
    },
  ];
  for (const { configuration, environment, heldOut } of BRIDGE_SPECS) {
    const directory = await environmentDirectory(environment, harnessCache());
    rows.push({
      configuration,
      framework: `${environment.package} ${environment.version}`,
      environment: environment.name,
      heldOut,
      optional: environment.optional === true,
      installed: (await readInstalled(directory)) !== undefined,
    });
  }
  process.stdout.write(
    json === true ? `${JSON.stringify({ harnesses: rows })}\n` : rows.map(rowText).join(''),
  );
}

function rowText(row: Row): string {
  const { configuration, framework, environment, heldOut, optional, installed } = row;
  const state = installed ? 'installed' : `memwriter harness add ${environment}`;
  const marks = [heldOut ? ' (held out)' : '', optional ? ' (optional)' : ''].join('');
  return `${configuration.padEnd(20)} ${framework.padEnd(28)} ${state}${marks}\n`;
}

interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

async function runDoctor(names: readonly string[], { json }: Flags): Promise<void> {
  const findings: Finding[] = [];
  for (const environment of await toExamine(names)) {
    const finding = await examine(environment);
    findings.push(finding);
    if (json === true) continue;
    process.stdout.write(
      `${finding.ok ? 'ok     ' : 'missing'} ${finding.name}: ${finding.detail}\n`,
    );
  }
  const ok = findings.every((finding) => finding.ok);
  if (json === true) process.stdout.write(`${JSON.stringify({ ok, environments: findings })}\n`);
  if (!ok) process.exitCode = EXIT.missing;
}

/** Nobody misses an optional one that was not named. */
async function toExamine(names: readonly string[]): Promise<readonly PythonEnvironment[]> {
  if (names.length > 0) return environmentsOf(names);
  const present = await Promise.all(
    ENVIRONMENTS.map(async (environment) => {
      const directory = await environmentDirectory(environment, harnessCache());
      return (await readInstalled(directory)) !== undefined;
    }),
  );
  return ENVIRONMENTS.filter(({ optional }, i) => optional !== true || present[i] === true);
}

/** Here any failure is what was asked for. */
async function examine(environment: PythonEnvironment): Promise<Finding> {
  const { name, package: distribution } = environment;
  const directory = await environmentDirectory(environment, harnessCache());
  const installed = await readInstalled(directory);
  if (installed === undefined) {
    try {
      const python = await pythonFor(environment);
      const detail = `not installed; Python ${python.version} would do: memwriter harness add ${name}`;
      return { name, ok: false, detail };
    } catch (cause) {
      if (!(cause instanceof NoPythonError)) throw cause;
      return { name, ok: false, detail: `not installed, and ${cause.message}` };
    }
  }
  try {
    const program = `import importlib.metadata as m; assert m.version(${JSON.stringify(distribution)}) == ${JSON.stringify(installed.version)}`;
    await runCommand(interpreterOf(directory), ['-c', program]);
  } catch (cause) {
    const [reason] = (cause instanceof Error ? cause.message : String(cause)).split('\n').slice(-1);
    return {
      name,
      ok: false,
      detail: `its environment does not run (${reason}): remove ${directory} and add it again`,
    };
  }
  const { version, python, megabytes } = installed;
  return {
    name,
    ok: true,
    detail: `${distribution} ${version}, Python ${python}, ${megabytes} MB`,
  };
}

function pythonFor(environment: PythonEnvironment): Promise<Python> {
  const { MEMWRITER_PYTHON: preferred, PYENV_ROOT: pyenvRoot } = process.env;
  return findPython(environment, { preferred, pyenvRoot, platform: process.platform });
}

function environmentsOf(names: readonly string[]): PythonEnvironment[] {
  return names.flatMap((name) => {
    if (name === 'all') return ENVIRONMENTS.filter(({ optional }) => optional !== true);
    const found = ENVIRONMENTS.find((environment) => environment.name === name);
    if (found !== undefined) return [found];
    const known = ENVIRONMENTS.map((environment) => environment.name).join(', ');
    throw new BadInputError(`no framework "${name}" to install; there are ${known}, all`);
  });
}
