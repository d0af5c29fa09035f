/** The policy engine and the teacher that live in this process. */
import type { Sample } from '../../core/policy.ts';
import type {
  Completion,
  LossOptions,
  OptimiserOptions,
  PolicyEngine,
  SampleOptions,
  StepReport,
  Teacher,
} from '../contract.ts';
import type { Executor } from './executor.ts';
import { type LocalPolicy, savePolicy } from './policy-directory.ts';
import { type PublishedWeights, publishWeights } from './published.ts';
import { lazyExecutor, type RuntimeOptions } from './runtime.ts';
import { Sampler } from './sampler.ts';
import { Scorer, TopKScorer } from './scorer.ts';
import { Trainer } from './trainer.ts';

export interface LocalEngineOptions extends RuntimeOptions {
  /** Replaces the native runtime, e.g. by the TypeScript executor in tests. */
  readonly executor?: Executor;
  /** Tokens (batch · length) of one training micro-batch: bounds the memory of a step. */
  readonly microBatchTokens?: number;
}

/**
 * Trains `policy.model.parameters` in place. Samples and scores come from a copy made by `publish`, so that a
 * step never changes an answer half-way.
 */
export function createLocalEngine(policy: LocalPolicy, options: LocalEngineOptions): PolicyEngine {
  return new LocalEngine(policy, options);
}

class LocalEngine implements PolicyEngine {
  readonly #policy: LocalPolicy;
  readonly #trainer: Trainer;
  readonly #sampler: Sampler;
  readonly #scorer: Scorer;
  #published: PublishedWeights;
  #version: number;
  /** Steps, publications and saves happen one after the other. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(policy: LocalPolicy, options: LocalEngineOptions) {
    const runtime = runtimeOf(options);
    this.#policy = policy;
    const { microBatchTokens } = options;
    this.#trainer = new Trainer(policy.model, { executor: runtime, microBatchTokens });
    this.#sampler = new Sampler(policy.model.config, runtime);
    this.#scorer = new Scorer(policy.model.config, runtime);
    this.#version = versionOf(policy);
    this.#published = publishWeights(policy.model, this.#version);
  }

  get contextLength(): number {
    return this.#policy.model.config.contextLength;
  }

  get vocabularySize(): number {
    return this.#policy.model.config.vocabularySize;
  }

  get policyVersion(): number {
    return this.#version;
  }

  sample(promptIds: readonly number[], options: SampleOptions): Promise<Completion> {
    return this.#sampler.sample(promptIds, options, this.#published);
  }

  score(tokenIds: readonly number[], from: number): Promise<readonly number[]> {
    return this.#scorer.score({ tokenIds, from }, this.#published);
  }

  step(
    samples: readonly Sample[],
    loss: LossOptions,
    optimiser: OptimiserOptions,
  ): Promise<StepReport> {
    return this.#inTurn(() => this.#trainer.step(samples, loss, optimiser));
  }

  publish(): Promise<number> {
    return this.#inTurn(async () => {
      this.#version += 1;
      this.#published = publishWeights(this.#policy.model, this.#version);
      return this.#version;
    });
  }

  save(directory: string): Promise<void> {
    return this.#inTurn(() => {
      const { optimiserState } = this.#trainer;
      const model = { ...this.#policy.model, ...(optimiserState && { optimiserState }) };
      const trainer = { ...this.#policy.trainer, policyVersion: this.#version };
      return savePolicy(directory, { ...this.#policy, model, trainer });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sampler[Symbol.asyncDispose]();
    await this.#scorer[Symbol.asyncDispose]();
    await this.#inTurn(() => this.#trainer[Symbol.asyncDispose]());
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(run);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

/** A frozen model that only gives its opinion. */
export function createLocalTeacher(
  policy: LocalPolicy,
  options: LocalEngineOptions,
): Teacher & AsyncDisposable {
  const { config } = policy.model;
  const scorer = new TopKScorer(config, runtimeOf(options));
  const weights = publishWeights(policy.model, versionOf(policy));
  return {
    vocabularySize: config.vocabularySize,
    topK: (tokenIds, from, k) => scorer.topK({ tokenIds, from }, { k, weights }),
    [Symbol.asyncDispose]: () => scorer[Symbol.asyncDispose](),
  };
}

function runtimeOf(options: LocalEngineOptions): () => Promise<Executor> {
  const { executor } = options;
  return executor === undefined ? lazyExecutor(options) : async () => executor;
}

function versionOf({ trainer }: LocalPolicy): number {
  const version = trainer?.['policyVersion'];
  return typeof version === 'number' ? version : 0;
}
