/** `memwriter train opd|rl`: one run in one directory; the same command resumes it. */
import { join } from 'node:path';
import type { Command } from 'commander';
import type { TrainEnd } from '../train/parts.ts';
import { opdConfigSchema, rlConfigSchema } from './config.ts';
import { loadConfig } from './config-file.ts';
import { BadInputError, EXIT } from './exit-codes.ts';
import { catchInterrupt } from './interrupt.ts';
import { openStack } from './stack.ts';
import { runOpd, runRl } from './training.ts';

interface TrainFlags {
  readonly config?: string;
  readonly set?: readonly string[];
  readonly run?: string;
  readonly trainHeldOut?: boolean;
  readonly json?: boolean;
}

const WORLD = { kind: 'world', preset: 'demo', world: { split: 'train', users: 64 } };
/** What differs from the schema's own defaults: sizes that suit the shipped policies. */
export const TRAIN_DEFAULTS = {
  opd: {
    data: WORLD,
    train: {
      steps: 10,
      rowsPerStep: 48,
      configurations: ['mem0'],
      concurrency: 16,
      optimiser: { learningRate: 5e-4 },
    },
  },
  rl: {
    data: WORLD,
    train: {
      steps: 12,
      rowsPerStep: 8,
      configurations: ['mem0'],
      concurrency: 16,
      optimiser: { learningRate: 3e-4 },
    },
  },
} as const;

export function registerTrain(program: Command): void {
  const train = program.command('train').description('train a writer inside the real framework');
  withFlags(
    train.command('opd').description('stage 1: memory on-policy distillation from a teacher'),
  )
    .addHelpText(
      'after',
      `
Examples:
  memwriter train opd --run runs/distil
  memwriter train opd --run runs/distil --set train.steps=40 --set policy=models/base --set teacher=models/teacher
  memwriter train opd --run runs/two --set 'train.configurations=["mem0","mem0:1x"]'`,
    )
    .action((flags: TrainFlags) => runTraining('opd', flags));
  withFlags(train.command('rl').description('stage 2: memory RL with chunk-level credit'))
    .addHelpText(
      'after',
      `
Examples:
  memwriter train rl --run runs/rl --set policy=runs/distil/checkpoints/000009
  memwriter train rl --run runs/rl --set train.credit.arm=window --set train.steps=20
  memwriter train rl --run runs/locomo --set 'data={"kind":"locomo","file":"locomo10.json","conversations":[0]}'`,
    )
    .action((flags: TrainFlags) => runTraining('rl', flags));
}

function withFlags(command: Command): Command {
  return command
    .option('-r, --run <directory>', 'the run directory; a run that is there is resumed')
    .option('-c, --config <file>', 'configuration file (JSON)')
    .option('--set <key=value...>', 'override one configuration key, e.g. --set train.steps=20')
    .option('--train-held-out', 'train in a held-out framework that train.allowHeldOut names too')
    .option('--json', 'print one JSON object on standard output when the run ends');
}

async function runTraining(kind: 'opd' | 'rl', flags: TrainFlags): Promise<void> {
  const directory = flags.run ?? join('runs', kind);
  const source = {
    file: flags.config,
    set: flags.set,
    defaults: TRAIN_DEFAULTS[kind],
    help: `memwriter config ${kind}`,
  };
  using interrupt = catchInterrupt(
    `the same command goes on: memwriter train ${kind} --run ${directory}`,
  );
  const heldOut = flags.trainHeldOut === true;
  const common = { directory, quiet: false, signal: interrupt.signal, heldOut };
  const end = await (kind === 'opd' ? startOpd(source, common) : startRl(source, common));
  report(end, directory, flags.json === true);
}

interface Common {
  readonly directory: string;
  readonly quiet: boolean;
  readonly signal: AbortSignal;
  /** `--train-held-out` */
  readonly heldOut: boolean;
}
type Source = Parameters<typeof loadConfig>[1];

async function startOpd(source: Source, common: Common): Promise<TrainEnd> {
  const config = loadConfig(opdConfigSchema, source);
  refuseHeldOut(config.train.allowHeldOut, common);
  const { configurations } = config.train;
  await using stack = await openStack(config.stack, { signal: common.signal, configurations });
  return await runOpd({ stack, config, ...common });
}

async function startRl(source: Source, common: Common): Promise<TrainEnd> {
  const config = loadConfig(rlConfigSchema, source);
  refuseHeldOut(config.train.allowHeldOut, common);
  const { configurations } = config.train;
  await using stack = await openStack(config.stack, { signal: common.signal, configurations });
  return await runRl({ stack, config, ...common });
}

/** What is held out measures transfer: a line in a copied configuration is not enough to spend it. */
function refuseHeldOut(allowed: readonly string[], { heldOut }: Common): void {
  if (allowed.length === 0 || heldOut) return;
  throw new BadInputError(
    `train.allowHeldOut names ${allowed.join(', ')}: give --train-held-out too, to train in what is held out for evaluation`,
  );
}

function report(end: TrainEnd, directory: string, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify({ run: directory, ...end })}\n`);
  switch (end.kind) {
    case 'finished':
      if (!json)
        process.stdout.write(`finished: ${end.checkpoint} is an ordinary Hugging Face directory\n`);
      return;
    case 'stopped':
      process.stderr.write(
        `stopped before step ${end.nextStep}; the same command goes on from there\n`,
      );
      process.exitCode = EXIT.interrupted;
      return;
    default:
      end satisfies never;
  }
}
