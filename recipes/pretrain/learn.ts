/** One stage of supervised training: from a policy directory to a trained one, resumable after any interruption. */
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { LossOptions, OptimiserOptions, PolicyEngine } from '../../src/engine/contract.ts';
import { createLocalEngine } from '../../src/engine/local/engine.ts';
import { loadPolicy } from '../../src/engine/local/policy-directory.ts';
import { createRng } from '../../src/lib/rng.ts';
import { type BatchOptions, batchesFrom, type Position } from './batches.ts';
import { type ExampleOptions, examplesOf, POOL_TOKENS } from './examples.ts';

export interface StagePlan {
  readonly name: string;
  /** Training tokens, prompts included. */
  readonly tokens: number;
  readonly learningRate: number;
  readonly warmupUpdates: number;
  /** The rate falls along a half cosine to this share of itself. */
  readonly finalRateShare: number;
  readonly batchTokens: number;
  readonly promptWeight: number;
  /** Share of users with short sessions at the given progress, 0 to 1. */
  readonly shortShare: (progress: number) => number;
}

export interface StageFrame {
  readonly examples: Omit<ExampleOptions, 'shortShare'>;
  /** Where training starts from: a policy directory. */
  readonly from: string;
  /** The stage's own directory. */
  readonly directory: string;
  readonly threads: number;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

const LOSS: LossOptions = { clipLow: 0.2, clipHigh: 0.2, klArm: 'tail', entropyBonus: 0 };
const SAVE_EVERY_UPDATES = 200;
const LOG_EVERY_UPDATES = 20;

const markSchema = z.strictObject({
  update: z.int().nonnegative(),
  tokens: z.int().nonnegative(),
  pool: z.int().nonnegative(),
  offset: z.int().nonnegative(),
});
type Mark = z.infer<typeof markSchema>;
const START: Mark = { update: 0, tokens: 0, pool: 0, offset: 0 };

/** Returns the directory of the trained policy. Throws the signal's reason after saving when interrupted. */
export async function runStage(plan: StagePlan, frame: StageFrame): Promise<string> {
  await mkdir(frame.directory, { recursive: true });
  const checkpoint = join(frame.directory, 'checkpoint');
  const { policy, mark: start } = await resume(checkpoint, frame);
  if (start.tokens >= plan.tokens) return checkpoint;
  await using engine = createLocalEngine(policy, { threads: frame.threads, warn: frame.log });
  const progress = new ProgressLog(plan, start, frame.log);
  let mark = start;
  for await (const batch of batchesFrom(start, batchOptions(plan, frame))) {
    const optimiser = optimiserAt(plan, mark);
    const report = await engine.step(batch.samples, LOSS, optimiser);
    if (report.outcome !== 'updated') throw new Error(`update ${mark.update}: ${report.outcome}`);
    mark = { update: mark.update + 1, tokens: mark.tokens + batch.tokens, ...batch.next };
    progress.add(mark, { loss: report.loss, gradNorm: report.gradNorm });
    const done = mark.tokens >= plan.tokens;
    if (done || frame.signal.aborted || mark.update % SAVE_EVERY_UPDATES === 0) {
      await save(engine, checkpoint, { frame, mark });
    }
    if (done) return checkpoint;
    frame.signal.throwIfAborted();
  }
  throw new Error('the stream of batches ended');
}

function batchOptions(plan: StagePlan, { examples }: StageFrame): BatchOptions {
  return {
    examplesOf: (pool) =>
      examplesOf(pool, {
        ...examples,
        shortShare: plan.shortShare(Math.min(1, (pool * POOL_TOKENS) / plan.tokens)),
      }),
    rng: createRng(`batches ${plan.name} ${examples.seed}`),
    batchTokens: plan.batchTokens,
    promptWeight: plan.promptWeight,
  };
}

function optimiserAt(plan: StagePlan, mark: Mark): OptimiserOptions {
  const warmup = Math.min(1, (mark.update + 1) / plan.warmupUpdates);
  const cosine = (1 + Math.cos(Math.PI * Math.min(1, mark.tokens / plan.tokens))) / 2;
  const share = plan.finalRateShare + (1 - plan.finalRateShare) * cosine;
  return {
    learningRate: plan.learningRate * warmup * share,
    beta1: 0.9,
    beta2: 0.98,
    epsilon: 1e-8,
    weightDecay: 0.01,
    maxGradNorm: 1,
  };
}

/** The line comes first: a checkpoint whose update has no line cannot exist. */
async function save(
  engine: PolicyEngine,
  checkpoint: string,
  { frame, mark }: { frame: StageFrame; mark: Mark },
): Promise<void> {
  await appendFile(join(frame.directory, 'marks.jsonl'), `${JSON.stringify(mark)}\n`);
  await engine.save(checkpoint);
}

async function resume(checkpoint: string, { from, directory }: StageFrame) {
  if (!existsSync(checkpoint) && !existsSync(`${checkpoint}.previous`)) {
    const { model, ...rest } = await loadPolicy(from);
    const { config, parameters } = model;
    return { policy: { ...rest, model: { config, parameters } }, mark: START };
  }
  const policy = await loadPolicy(checkpoint);
  const lines = (await readFile(join(directory, 'marks.jsonl'), 'utf8')).trim().split('\n');
  const update = policy.model.optimiserState?.step;
  const mark = lines
    .map((line) => markSchema.parse(JSON.parse(line)))
    .findLast((candidate) => candidate.update === update);
  if (mark === undefined) throw new Error(`${directory}: no mark of update ${update}`);
  return { policy, mark };
}

/** Plain lines with loss, rate of work and time left. */
class ProgressLog {
  readonly #plan: StagePlan;
  readonly #log: (line: string) => void;
  readonly #start: Position & { readonly tokens: number };
  readonly #startedMs = performance.now();
  #losses: number[] = [];

  constructor(plan: StagePlan, start: Mark, log: (line: string) => void) {
    this.#plan = plan;
    this.#start = start;
    this.#log = log;
  }

  add(mark: Mark, { loss, gradNorm }: { loss: number; gradNorm: number }): void {
    this.#losses.push(loss);
    if (mark.update % LOG_EVERY_UPDATES !== 0) return;
    const seconds = (performance.now() - this.#startedMs) / 1000;
    const rate = (mark.tokens - this.#start.tokens) / seconds;
    const left = Math.max(0, this.#plan.tokens - mark.tokens) / rate;
    const mean = this.#losses.reduce((sum, value) => sum + value, 0) / this.#losses.length;
    this.#losses = [];
    this.#log(
      `${this.#plan.name}: update ${mark.update}, ${(mark.tokens / 1e6).toFixed(2)} M tokens, ` +
        `loss ${mean.toFixed(4)}, gradient ${gradNorm.toFixed(2)}, ${rate.toFixed(0)} tokens/s, ${Math.round(left)} s left`,
    );
  }
}
