/** `memwriter demo`: the whole method on this machine, base → distilled → reinforced, and what it is worth. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { EvaluatedWindow, UserExam } from '../bench/evaluate.ts';
import { itemScores, mean } from '../bench/writer-summary.ts';
import { rewardPresets } from '../reward/options.ts';
import { parseRlOptions } from '../train/options.ts';
import type { TrainEnd } from '../train/parts.ts';
import { RunCompleteError } from '../train/trainer.ts';
import {
  type DataConfig,
  dataConfigSchema,
  opdConfigSchema,
  rlConfigSchema,
  samplingConfigSchema,
  stackConfigSchema,
} from './config.ts';
import { type DemoPlan, demoPlan } from './demo-plan.ts';
import { compare, evaluateNamed } from './evaluation.ts';
import { leftOutText, loadUserExams } from './exam-source.ts';
import { catchInterrupt, InterruptedError } from './interrupt.ts';
import { openStack, SHIPPED_POLICIES, type Stack } from './stack.ts';
import { differencesTable, writersTable } from './tables.ts';
import { runOpd, runRl } from './training.ts';
import { type NamedWriter, openControl, openLocalWriter } from './writers.ts';

interface DemoFlags {
  readonly quick?: boolean;
  readonly seed: string;
  readonly run?: string;
  readonly fresh?: boolean;
  readonly base: string;
  readonly teacher: string;
  readonly json?: boolean;
}

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'watch a small writer learn to write better memories inside the real Mem0, in minutes',
    )
    .option('--quick', 'a short run that shows every part and proves nothing')
    .option('--seed <seed>', 'seed of training, sampling and evaluation', '1')
    .option('-r, --run <directory>', 'where the two training runs are kept (runs/demo-<seed>)')
    .option('--fresh', 'remove what an earlier demo left there instead of going on with it')
    .option('--base <directory>', 'policy to start from', SHIPPED_POLICIES.base)
    .option('--teacher <directory>', 'frozen teacher', SHIPPED_POLICIES.teacher)
    .option('--json', 'print nothing but the final JSON object on standard output')
    .addHelpText(
      'after',
      `
The last line of standard output is one JSON object (docs/cli.md).

Examples:
  memwriter demo
  memwriter demo --quick
  memwriter demo --seed 2 --run runs/second`,
    )
    .action(runDemo);
}

async function runDemo(flags: DemoFlags): Promise<void> {
  const { base, teacher } = flags;
  const plan = demoPlan(flags.seed, flags.quick === true);
  const root = flags.run ?? join('runs', `demo-${plan.name}${flags.seed}`);
  if (flags.fresh === true) await rm(root, { recursive: true, force: true });
  const startedAt = performance.now();
  using interrupt = catchInterrupt('the same command goes on with the training that is done');
  const { signal } = interrupt;
  await using stack = await openStack(stackConfigSchema.parse({ tokenizer: base }), { signal });

  const distilled = await distil(stack, plan, { root, signal, policy: base, teacher });
  const reinforced = await reinforce(stack, plan, { root, signal, policy: distilled });
  const directories = { base, distilled, reinforced, teacher };
  const users = await loadUsers(stack, plan.evaluation);
  const evaluations = new Map<string, EvaluatedWindow[]>();
  const reward = rewardPresets.recommended;
  const request = { users, seed: flags.seed, reward, ownRanking: false, quiet: false, signal };
  for (const [name, directory] of Object.entries(directories)) {
    await using writer = await openWriter(stack, name, directory);
    evaluations.set(name, await evaluateNamed(stack, writer, request));
  }
  for (const control of ['empty', 'verbatim'] as const) {
    evaluations.set(control, await evaluateNamed(stack, openControl(control), request));
  }
  const transfer = await evaluateTransfer(stack, plan, {
    directory: reinforced,
    seed: flags.seed,
    signal,
  });

  const comparison = compare(
    evaluations,
    [
      ['distilled', 'base'],
      ['reinforced', 'distilled'],
      ['reinforced', 'teacher'],
    ],
    flags.seed,
  );
  const wallS = (performance.now() - startedAt) / 1000;
  if (flags.json !== true) {
    process.stdout.write(`${writersTable(comparison.writers)}\n${differencesTable(comparison)}\n`);
    process.stdout.write(
      `${users.length} users never seen, with values never seen; ${wallS.toFixed(0)} s. ${transferText(transfer)}\n`,
    );
    process.stdout.write(`${distilled} and ${reinforced} are ordinary Hugging Face directories.\n`);
  }
  process.stdout.write(`${JSON.stringify({ seed: flags.seed, wallS, ...comparison, transfer })}\n`);
}

interface Place {
  readonly root: string;
  readonly signal: AbortSignal;
  /** Directory to start from. */
  readonly policy: string;
}

async function distil(
  stack: Stack,
  plan: DemoPlan,
  { root, signal, policy, teacher }: Place & { readonly teacher: string },
): Promise<string> {
  const config = opdConfigSchema.parse({ ...plan.opd, policy, teacher });
  const directory = join(root, 'distil');
  return await checkpointOf(runOpd({ stack, config, directory, quiet: false, signal }));
}

async function reinforce(
  stack: Stack,
  plan: DemoPlan,
  { root, signal, policy }: Place,
): Promise<string> {
  const parsed = rlConfigSchema.parse({ ...plan.rl, policy });
  const config = { ...parsed, train: parseRlOptions(parsed.train) };
  const directory = join(root, 'reinforce');
  return await checkpointOf(runRl({ stack, config, directory, quiet: false, signal }));
}

/** A training that an earlier demo finished is not done again. */
async function checkpointOf(training: Promise<TrainEnd>): Promise<string> {
  const end = await training.catch((cause: unknown): TrainEnd => {
    if (cause instanceof RunCompleteError)
      return { kind: 'finished', checkpoint: cause.checkpoint };
    throw cause;
  });
  if (end.kind === 'finished') return end.checkpoint;
  throw new InterruptedError(
    `stopped before step ${end.nextStep}; the same command goes on from there`,
  );
}

async function openWriter(stack: Stack, name: string, directory: string): Promise<NamedWriter> {
  return await openLocalWriter({ name, directory }, samplingConfigSchema.parse({}), stack.config);
}

async function loadUsers(stack: Stack, data: DataConfig): Promise<readonly UserExam[]> {
  const { users, counts } = await loadUserExams(dataConfigSchema.parse(data), stack.countTokens);
  const leftOut = leftOutText(counts);
  if (leftOut !== undefined) process.stderr.write(`${leftOut}\n`);
  return users;
}

interface Transfer {
  /** Recall of the reinforced writer by whether training ever showed the fact's surface form. */
  readonly recallSeenForms: number | null;
  readonly recallHeldOutForms: number | null;
}

async function evaluateTransfer(
  stack: Stack,
  plan: DemoPlan,
  {
    directory,
    seed,
    signal,
  }: { readonly directory: string; readonly seed: string; readonly signal: AbortSignal },
): Promise<Transfer> {
  const users = await loadUsers(stack, plan.transfer);
  await using writer = await openWriter(stack, 'transfer', directory);
  const windows = await evaluateNamed(stack, writer, {
    users,
    seed,
    reward: rewardPresets.recommended,
    ownRanking: false,
    quiet: false,
    signal,
  });
  const recallOf = (form: string): number | null =>
    mean(itemScores(windows, (item) => item.kind === 'recall' && item.facets['form'] === form));
  return { recallSeenForms: recallOf('seen'), recallHeldOutForms: recallOf('held-out') };
}

function transferText({ recallSeenForms, recallHeldOutForms }: Transfer): string {
  const text = (value: number | null): string =>
    value === null ? '–' : `${(100 * value).toFixed(0)} %`;
  return `Transfer: recall ${text(recallHeldOutForms)} on surface forms never trained, ${text(recallSeenForms)} on others.`;
}
