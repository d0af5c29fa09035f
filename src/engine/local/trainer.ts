/** One step: forward and backward over micro-batches, gradients summed, one Adam update or none. */
import type { Sample } from '../../core/policy.ts';
import type { LossOptions, OptimiserOptions, StepReport } from '../contract.ts';
import { adamStep, gradientNorm, initialOptimiserState } from './adam.ts';
import type { LlamaConfig } from './config.ts';
import { type Executor, floats, type Program, type Tensor, type Tensors } from './executor.ts';
import { llamaFeeds } from './llama.ts';
import { type LossBatch, lossBatches } from './loss-feeds.ts';
import { buildLossGraph, EMBEDDED_GRADIENT, gradientName, lossKey } from './losses.ts';
import {
  EMBEDDING,
  type LocalModel,
  type OptimiserState,
  type Parameters,
  viewOf,
} from './parameters.ts';
import { StepMetrics } from './step-metrics.ts';

/** Enough to keep the kernels busy, little enough to stay in memory. */
const MICRO_BATCH_TOKENS = 4096;

export interface TrainerOptions {
  readonly executor: () => Promise<Executor>;
  /** Tokens (batch · length) of one micro-batch; the result does not depend on it. */
  readonly microBatchTokens?: number | undefined;
}

export class Trainer implements AsyncDisposable {
  readonly #config: LlamaConfig;
  readonly #parameters: Parameters;
  readonly #executor: () => Promise<Executor>;
  readonly #microBatchTokens: number;
  readonly #programs = new Map<string, Promise<Program>>();
  #state: OptimiserState;

  constructor(
    model: LocalModel,
    { executor, microBatchTokens = MICRO_BATCH_TOKENS }: TrainerOptions,
  ) {
    this.#config = model.config;
    this.#parameters = model.parameters;
    this.#executor = executor;
    this.#microBatchTokens = microBatchTokens;
    this.#state = model.optimiserState ?? initialOptimiserState(model.parameters.flat.length);
  }

  get optimiserState(): OptimiserState {
    return this.#state;
  }

  async step(
    samples: readonly Sample[],
    loss: LossOptions,
    optimiser: OptimiserOptions,
  ): Promise<StepReport> {
    const { contextLength, vocabularySize } = this.#config;
    const limits = { maxTokens: this.#microBatchTokens, contextLength, vocabularySize };
    const batches = lossBatches(samples, loss, limits);
    const metrics = new StepMetrics(loss);
    const gradient = new Float32Array(this.#parameters.flat.length);
    for (const batch of batches) await this.#accumulate(batch, { gradient, metrics });
    const gradNorm = gradientNorm(gradient);
    const report = { ...metrics.report(), gradNorm };
    if (report.trainedTokens === 0) return { ...report, outcome: 'skipped-empty' };
    if (!Number.isFinite(gradNorm) || !Number.isFinite(report.loss)) {
      return { ...report, outcome: 'skipped-non-finite' };
    }
    const { flat: weights } = this.#parameters;
    this.#state = adamStep(this.#state, { weights, gradient, gradNorm, options: optimiser });
    return { ...report, outcome: 'updated' };
  }

  async #accumulate(batch: LossBatch, { gradient, metrics }: Accumulators): Promise<void> {
    const program = await this.#program(batch);
    const part = { views: this.#parameters.views, flat: new Float32Array(gradient.length) };
    const feeds = {
      ...parameterTensors(this.#parameters),
      ...llamaFeeds(this.#config, batch),
      ...batch.feeds,
    };
    const results = await program.run(feeds, this.#gradientTargets(part));
    scatterRows(viewOf(part, EMBEDDING), {
      rows: floats(results, EMBEDDED_GRADIENT),
      ids: batch.tokens,
    });
    for (let i = 0; i < gradient.length; i++) {
      gradient[i] = (gradient[i] as number) + (part.flat[i] as number);
    }
    metrics.add(batch, results);
  }

  /** The input embedding has no gradient of its own in the graph unless it is also the head. */
  #gradientTargets(part: Parameters): Tensors {
    const targets = Object.entries(parameterTensors(part)).filter(
      ([name]) => name !== EMBEDDING || this.#config.tiedEmbeddings,
    );
    return Object.fromEntries(targets.map(([name, tensor]) => [gradientName(name), tensor]));
  }

  #program({ spec }: LossBatch): Promise<Program> {
    const key = lossKey(spec);
    const known = this.#programs.get(key);
    if (known !== undefined) return known;
    const compiled = this.#executor().then((executor) =>
      executor.compile(buildLossGraph(this.#config, spec)),
    );
    this.#programs.set(key, compiled);
    return compiled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.values()) await (await program)[Symbol.asyncDispose]();
    this.#programs.clear();
  }
}

interface Accumulators {
  readonly gradient: Float32Array;
  readonly metrics: StepMetrics;
}

/** Every tensor as a window on the flat array: nothing is copied. */
export function parameterTensors(parameters: Parameters): Record<string, Tensor> {
  return Object.fromEntries(
    parameters.views.map(({ name, shape, offset, length }): [string, Tensor] => [
      name,
      { dims: shape, data: parameters.flat.subarray(offset, offset + length) },
    ]),
  );
}

interface RowGradient {
  readonly rows: ArrayLike<number>;
  readonly ids: Int32Array;
}

/** Adds each row to the embedding of its token, in order: exact and the same every time. */
function scatterRows(embedding: Float32Array, { rows, ids }: RowGradient): void {
  const width = rows.length / ids.length;
  for (const [row, id] of ids.entries()) {
    for (let i = 0; i < width; i++) {
      const place = id * width + i;
      embedding[place] = (embedding[place] as number) + (rows[row * width + i] as number);
    }
  }
}
