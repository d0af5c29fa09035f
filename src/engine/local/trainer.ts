/** One step: forward and backward over micro-batches, gradients summed, one Adam update or none. */
import type { Sample } from '../../core/policy.ts';
import type { LossOptions, OptimiserOptions, StepReport } from '../contract.ts';
import { adamStep, gradientNorm, initialOptimiserState } from './adam.ts';
import type { LlamaConfig } from './config.ts';
import { decoderFeeds } from './decoder.ts';
import {
  type Executor,
  type FloatArray,
  floats,
  type Program,
  type Tensor,
  type Tensors,
} from './executor.ts';
import { type LossBatch, lossBatches } from './loss-feeds.ts';
import { buildLossGraph, EMBEDDED_GRADIENT, gradientName, lossKey } from './losses.ts';
import {
  allocateParameters,
  EMBEDDING,
  type LocalModel,
  type OptimiserState,
  type Parameters,
  viewOf,
} from './parameters.ts';
import { StepMetrics } from './step-metrics.ts';

/** Enough to keep the kernels busy, little enough to stay in memory. */
const MICRO_BATCH_TOKENS = 2048;

export interface TrainerOptions {
  readonly executor: () => Promise<Executor>;
  /** Tokens (batch · length) of one micro-batch; the result does not depend on it. */
  readonly microBatchTokens?: number | undefined;
}

export class Trainer implements AsyncDisposable {
  readonly #config: LlamaConfig;
  readonly #parameters: Parameters;
  /** Summed over the micro-batches of the step in hand. */
  readonly #gradient: Parameters;
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
    this.#gradient = allocateParameters(model.config);
    this.#executor = executor;
    this.#microBatchTokens = microBatchTokens;
    this.#state = model.optimiserState ?? initialOptimiserState(model.parameters.flat.length);
  }

  /** `undefined` before the first update: there is nothing to resume. */
  get optimiserState(): OptimiserState | undefined {
    return this.#state.step === 0 ? undefined : this.#state;
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
    for (const [index, batch] of batches.entries()) {
      const results = await this.#run(batch);
      this.#gather(results, { batch, isFirst: index === 0 });
      metrics.add(batch, results);
    }
    if (batches.length === 0) this.#gradient.flat.fill(0);
    const gradient = this.#gradient.flat;
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

  async #run(batch: LossBatch): Promise<Tensors> {
    const program = await this.#program(batch);
    return program.run({
      ...parameterTensors(this.#parameters),
      ...decoderFeeds(this.#config, batch),
      ...batch.feeds,
    });
  }

  /** Adds a micro-batch's gradients to the sum; the first one replaces what the last step left there. */
  #gather(results: Tensors, { batch, isFirst }: Gathering): void {
    const { views, flat } = this.#gradient;
    for (const { name, offset, length } of views) {
      const sum = flat.subarray(offset, offset + length);
      // The input embedding has no gradient of its own in the graph unless it is also the head.
      const has = gradientName(name) in results;
      if (isFirst && has) sum.set(floats(results, gradientName(name)));
      else if (isFirst) sum.fill(0);
      else if (has) addTo(sum, floats(results, gradientName(name)));
    }
    const rows = floats(results, EMBEDDED_GRADIENT);
    scatterRows(viewOf(this.#gradient, EMBEDDING), { rows, ids: batch.tokens });
  }

  #program({ spec }: LossBatch): Promise<Program> {
    const key = lossKey(spec);
    const known = this.#programs.get(key);
    if (known !== undefined) return known;
    const compiled = this.#executor().then((executor) =>
      executor.compile(buildLossGraph(this.#config, spec), { alone: true }),
    );
    this.#programs.set(key, compiled);
    return compiled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.values()) await (await program)[Symbol.asyncDispose]();
    this.#programs.clear();
  }
}

interface Gathering {
  readonly batch: LossBatch;
  readonly isFirst: boolean;
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

function addTo(sum: Float32Array, part: FloatArray): void {
  for (let i = 0; i < part.length; i++) sum[i] = (sum[i] as number) + (part[i] as number);
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
