/** What a Python framework's adapter declares; `createBridgeHarness` makes a harness of it. */
import type { Harness } from '../contract.ts';

/** A virtual environment that `memwriter harness add` makes. Several configurations may share one. */
export interface PythonEnvironment {
  /** As typed after `harness add`: `hy-memory`, `memos`, `memos-tree`, `mem0-1x`, `mem0-2x`, `everos`, `a-mem`, `memoryos`. */
  readonly name: string;
  /** Shown by `harness list`: the framework and what it is. */
  readonly title: string;
  /** Distribution and exact version that the lock pins, e.g. `hy-memory` and `2.0.6`. */
  readonly package: string;
  readonly version: string;
  /** Least Python, e.g. `[3, 9]`, and the first that is too new. */
  readonly minimumPython: readonly [number, number];
  readonly belowPython: readonly [number, number];
  /** Relative to the package root: a requirements lock with hashes. */
  readonly lock: string;
  /** Tokenizer files that the framework would otherwise download: put into `<environment>/tiktoken`. */
  readonly tiktoken: readonly ('cl100k_base' | 'o200k_base')[];
  /** Measured, for `harness list` before anything is installed. */
  readonly installedMegabytes: number;
  /** Not installed by `harness add all`. */
  readonly optional?: boolean;
}

export interface BridgeSpec
  extends Pick<
    Harness,
    | 'configuration'
    | 'stages'
    | 'heldOut'
    | 'requiredStages'
    | 'scenes'
    | 'sideEffects'
    | 'effectOf'
  > {
  readonly environment: PythonEnvironment;
  /** Relative to the package root, e.g. `bridges/hy-memory/bridge.py`. */
  readonly script: string;
  /** Sent with `open`, read by the script alone. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Environment variables beside the ones every bridge gets (which see `environment-variables.ts`). */
  readonly variables?: Readonly<Record<string, string>>;
  /** A framework that fixes "today" at import: the process is replaced when a chunk has another day. */
  readonly restartsOnNewDay?: boolean;
  /** Measured resident size of one open bank: bounds how many processes live at a time. */
  readonly residentMegabytes: number;
}
