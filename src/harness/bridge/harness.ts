/** A Python framework as a harness: what its adapter declares, over processes of a shared pool. */
import type { Harness } from '../contract.ts';
import { openBridgeBank } from './bank.ts';
import type { BridgeSpec } from './contract.ts';
import { BridgePool, type Kind } from './pool.ts';
import type { BridgeRuntime } from './process.ts';

export interface BridgeHarnessOptions extends BridgeRuntime {
  /** Shared between harnesses of one run, so that one memory budget holds for all; its own by default. */
  readonly pool?: BridgePool;
  /** Memories in a retrieved block. */
  readonly topK?: number;
  /** From process start to an open bank. */
  readonly openTimeoutMs?: number;
  /** For each later request. */
  readonly timeoutMs?: number;
}

/** Opens nothing and starts nothing until the first bank. */
export function createBridgeHarness(spec: BridgeSpec, options: BridgeHarnessOptions): Harness {
  const { topK = 5, openTimeoutMs = 120_000, timeoutMs = 300_000 } = options;
  const pool = options.pool ?? new BridgePool();
  const kind: Kind = { spec, runtime: options };
  const framework = `${spec.environment.package}@${spec.environment.version}`;
  return {
    configuration: spec.configuration,
    version: framework,
    stages: spec.stages,
    heldOut: spec.heldOut,
    requiredStages: spec.requiredStages,
    scenes: spec.scenes,
    sideEffects: spec.sideEffects,
    ...(spec.effectOf && { effectOf: spec.effectOf }),
    open: (openOptions) =>
      openBridgeBank(openOptions, { pool, kind, framework, topK, openTimeoutMs, timeoutMs }),
    [Symbol.asyncDispose]: async () => {
      if (options.pool === undefined) await pool[Symbol.asyncDispose]();
    },
  };
}
