/** The policy engine and the teacher that live in this process. */
import type { Sample } from '../../core/policy.ts';
import type { LossOptions, OptimiserOptions, PolicyEngine, StepReport } from '../contract.ts';
import type { Executor } from './executor.ts';
import { cloneParameters, type Parameters } from './parameters.ts';
import { type LocalPolicy, savePolicy } from './policy-directory.ts';
import { lazyExecutor, type RuntimeOptions } from './runtime.ts';
import { Trainer } from './trainer.ts';

export interface LocalEngineOptions extends RuntimeOptions {
  /** Replaces the native runtime, e.g. by the TypeScript executor in tests. */
  readonly executor?: Executor;
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
  #published: Parameters;
  #version: number;
  /** Steps, publications and saves happen one after the other. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(policy: LocalPolicy, options: LocalEngineOptions) {
    const { executor } = options;
    const runtime = executor === undefined ? lazyExecutor(options) : async () => executor;
    this.#policy = policy;
    this.#trainer = new Trainer(policy.model, runtime);
    this.#published = cloneParameters(policy.model.parameters);
    this.#version = versionOf(policy);
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

  sample(): never {
    throw new Error('sampling is not there yet');
  }

  score(): never {
    throw new Error('scoring is not there yet');
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
      this.#published = cloneParameters(this.#policy.model.parameters);
      this.#version += 1;
      return this.#version;
    });
  }

  save(directory: string): Promise<void> {
    return this.#inTurn(() => {
      const model = { ...this.#policy.model, optimiserState: this.#trainer.optimiserState };
      const trainer = { ...this.#policy.trainer, policyVersion: this.#version };
      return savePolicy(directory, { ...this.#policy, model, trainer });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inTurn(() => this.#trainer[Symbol.asyncDispose]());
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(run);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

function versionOf({ trainer }: LocalPolicy): number {
  const version = trainer?.['policyVersion'];
  return typeof version === 'number' ? version : 0;
}
