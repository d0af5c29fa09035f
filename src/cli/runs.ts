/** `memwriter runs list|show`: what is in run directories, without touching them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Table from 'cli-table3';
import type { Command } from 'commander';
import { z } from 'zod';
import { listRuns, readEvents, readManifest, readSteps } from '../store/read.ts';
import type { Manifest, RowRecord, RunEvent, StepRecord } from '../store/schema.ts';
import { BadInputError } from './exit-codes.ts';
import { flatten } from './flatten.ts';

interface RunsFlags {
  readonly root: string;
  readonly json?: boolean;
}

export function registerRuns(program: Command): void {
  const runs = program.command('runs').description('what training runs did');
  withFlags(runs.command('list').description('every run below a folder, with its last step'))
    .addHelpText(
      'after',
      '\nExamples:\n  memwriter runs list\n  memwriter runs list --root /data/runs --json',
    )
    .action(listCommand);
  withFlags(
    runs
      .command('show')
      .description('one run: its steps, alarms and configuration')
      .argument('<run>', 'directory of a run, or its name below the root'),
  )
    .addHelpText(
      'after',
      '\nExamples:\n  memwriter runs show runs/rl\n  memwriter runs show demo-1/reinforce --json',
    )
    .action(showCommand);
}

function withFlags(command: Command): Command {
  return command
    .option('--root <directory>', 'folder that holds the runs', 'runs')
    .option('--json', 'print one JSON object on standard output');
}

async function listCommand({ root, json }: RunsFlags): Promise<void> {
  if (!existsSync(root)) {
    throw new BadInputError(`there is no folder ${root}: name the folder of your runs with --root`);
  }
  const runs = await Promise.all(
    (await listRuns(root)).map(async (name) => summaryOf(name, await readRun(join(root, name)))),
  );
  if (json === true) process.stdout.write(`${JSON.stringify({ root, runs })}\n`);
  else if (runs.length === 0) process.stdout.write(`no runs in ${root}\n`);
  else process.stdout.write(`${runsTable(runs)}\n`);
}

async function showCommand(name: string, { root, json }: RunsFlags): Promise<void> {
  const directory = [name, join(root, name)].find((path) =>
    existsSync(join(path, 'manifest.json')),
  );
  if (directory === undefined) {
    throw new BadInputError(
      `${name} is not a run directory, and ${root} has no run of that name: memwriter runs list --root ${root}`,
    );
  }
  const run = await readRun(directory);
  if (json === true) {
    const { manifest, steps, alarms } = run;
    const object = { run: directory, ...summaryOf(name, run), manifest, steps, alarms };
    process.stdout.write(`${JSON.stringify(object)}\n`);
    return;
  }
  process.stdout.write(`${describe(directory, run)}\n`);
}

interface StoredRun {
  readonly manifest: Manifest;
  readonly steps: readonly StepRecord[];
  readonly alarms: readonly RunEvent[];
  /** Type of the newest event: `finished`, `stopped`, … */
  readonly lastEvent: string | undefined;
}

async function readRun(directory: string): Promise<StoredRun> {
  const manifest = await readManifest(directory);
  const [steps, events] = await Promise.all([readSteps(directory), readEvents(directory)]);
  return {
    manifest,
    steps,
    alarms: events.filter(({ type }) => type === 'alarm'),
    lastEvent: events.at(-1)?.type,
  };
}

interface RunSummary {
  readonly name: string;
  readonly kind: string;
  readonly stepsDone: number;
  readonly stepsPlanned: number | null;
  readonly state: 'finished' | 'stopped' | 'unfinished';
  readonly lastMetrics: Readonly<Record<string, number>> | null;
  readonly faults: number;
}

const plannedSchema = z.looseObject({ steps: z.int() });

function summaryOf(name: string, { manifest, steps, lastEvent }: StoredRun): RunSummary {
  const planned = plannedSchema.safeParse(manifest.config);
  const stepsPlanned = planned.success ? planned.data.steps : null;
  return {
    name,
    kind: manifest.kind,
    stepsDone: steps.length,
    stepsPlanned,
    state: stateOf(steps.length, stepsPlanned, lastEvent),
    lastMetrics: steps.at(-1)?.metrics ?? null,
    faults: steps.reduce((total, step) => total + faultsOf(step), 0),
  };
}

function stateOf(
  done: number,
  planned: number | null,
  lastEvent: string | undefined,
): RunSummary['state'] {
  if (done === planned) return 'finished';
  return lastEvent === 'stopped' ? 'stopped' : 'unfinished';
}

function faultsOf({ faults }: StepRecord): number {
  return [faults.rollouts, faults.items]
    .flatMap((counts) => Object.values(counts))
    .reduce((total, count) => total + count, 0);
}

/** In this order, those that a step has. */
const METRICS = [
  'chunkScore',
  'prm',
  'orm',
  'pen',
  'kl',
  'entropy',
  'loss',
  'gradNorm',
  'malformedCalls',
  'operationsPerChunk',
  'bankTokens',
] as const;
const IN_LIST = 4;

function runsTable(runs: readonly RunSummary[]): string {
  const table = plainTable(['run', 'kind', 'steps', 'state', 'last step', 'faults']);
  for (const { name, kind, stepsDone, stepsPlanned, state, lastMetrics, faults } of runs) {
    const shown = METRICS.filter((metric) => lastMetrics?.[metric] !== undefined).slice(0, IN_LIST);
    const last = shown.map((metric) => `${metric} ${number(lastMetrics?.[metric])}`).join(', ');
    table.push([name, kind, `${stepsDone}/${stepsPlanned ?? '?'}`, state, last, faults]);
  }
  return table.toString();
}

function describe(directory: string, run: StoredRun): string {
  const { manifest, steps, alarms } = run;
  const { kind, stepsDone, stepsPlanned, state, faults } = summaryOf(directory, run);
  const versions = Object.entries(manifest.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `${directory}: ${kind}, ${stepsDone} of ${stepsPlanned ?? '?'} steps, ${state}, ${faults} faults`,
    `seed ${manifest.seed}, preset ${manifest.preset}; ${versions.join(', ')}`,
    `data ${manifest.dataHash}, start weights ${manifest.startWeightsHash}`,
    ...(steps.length === 0 ? [] : [stepsTable(steps)]),
    ...configurationTables(steps),
    alarms.length === 0 ? 'no alarms' : 'alarms:',
    ...alarms.map(
      (alarm) => `  ${alarm.at} step ${String(alarm['step'])}: ${String(alarm['message'])}`,
    ),
    'configuration:',
    ...flatten(manifest.config).map(([key, value]) => `  ${key} = ${value}`),
  ].join('\n');
}

function stepsTable(steps: readonly StepRecord[]): string {
  const metrics = METRICS.filter((name) => steps.some((step) => step.metrics[name] !== undefined));
  const table = plainTable(['step', 'outcome', 'rows', ...metrics, 'faults']);
  for (const step of steps) {
    const numbers = metrics.map((name) => number(step.metrics[name]));
    table.push([step.step, outcomeOf(step), rowsOf(step.rows), ...numbers, faultsOf(step)]);
  }
  return table.toString();
}

/** What differs between frameworks, where there are several: a table each, a column a configuration. */
const BY_CONFIGURATION = ['chunkScore', 'malformedCalls'] as const;

function configurationTables(steps: readonly StepRecord[]): string[] {
  return BY_CONFIGURATION.flatMap((metric) => {
    const start = `${metric}/`;
    const names = steps
      .flatMap(({ metrics }) => Object.keys(metrics))
      .flatMap((name) => (name.startsWith(start) ? [name.slice(start.length)] : []));
    const configurations = [...new Set(names)];
    if (configurations.length === 0) return [];
    const table = plainTable(['step', ...configurations]);
    for (const { step, metrics } of steps) {
      table.push([step, ...configurations.map((name) => number(metrics[`${start}${name}`]))]);
    }
    return [`${metric} by configuration:`, table.toString()];
  });
}

function outcomeOf({ outcome }: StepRecord): string {
  return outcome.kind === 'aborted' ? `aborted: ${outcome.reason}` : outcome.kind;
}

/** `7 promoted, 1 void`. */
function rowsOf(rows: readonly RowRecord[]): string {
  const promoted = rows.filter(({ outcome }) => outcome.kind === 'promoted').length;
  const left = rows.length - promoted;
  return left === 0 ? `${promoted} promoted` : `${promoted} promoted, ${left} void`;
}

function number(value: number | undefined): string {
  if (value === undefined) return '–';
  return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

function plainTable(head: readonly string[]): InstanceType<typeof Table> {
  return new Table({ head: [...head], style: { head: [], border: [] } });
}
