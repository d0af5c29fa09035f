/**
 * The processes of all bridges: started ahead of use, never used for a second bank, and no more of them at a time than
 * the machine's memory holds.
 */
import { totalmem } from 'node:os';
import { boundary, FaultError } from '../../core/outcome.ts';
import type { BridgeSpec } from './contract.ts';
import { BridgeProcess, type BridgeRuntime } from './process.ts';

export interface BridgePoolOptions {
  /** Bytes that all bridges may hold; by default 60 % of the memory this process may use. */
  readonly budgetBytes?: number;
  /** Idle processes of a kind kept ready: they hide the seconds that imports take. */
  readonly warm?: number;
}

/** What one harness starts: all processes of a kind are alike. */
export interface Kind {
  readonly spec: BridgeSpec;
  readonly runtime: BridgeRuntime;
}

const SHARE = 0.6;
const MEGABYTE = 2 ** 20;

export class BridgePool implements AsyncDisposable {
  readonly #budgetBytes: number;
  readonly #warm: number;
  readonly #live = new Map<BridgeProcess, Kind>();
  readonly #idle = new Map<Kind, BridgeProcess[]>();
  /** Largest resident size seen of a kind; its spec's figure until one was measured. */
  readonly #bytes = new Map<Kind, number>();
  #swept: Promise<void> | undefined;
  #admission: Promise<void> = Promise.resolve();
  #closed = false;

  constructor({ budgetBytes, warm = 1 }: BridgePoolOptions = {}) {
    this.#budgetBytes = budgetBytes ?? SHARE * availableBytes();
    this.#warm = warm;
  }

  get liveProcesses(): number {
    return this.#live.size;
  }

  /** Waits for memory, in order of arrival; an aborted one's turn passes. The caller stops the process. */
  acquire(kind: Kind, signal?: AbortSignal): Promise<BridgeProcess> {
    const admitted = this.#admission.then(() =>
      boundary('harness', async () => {
        signal?.throwIfAborted();
        this.#swept ??= BridgeProcess.sweepHomes();
        await this.#swept;
        return await this.#admit(kind);
      }),
    );
    this.#admission = admitted.then(
      () => undefined,
      () => undefined,
    );
    return admitted;
  }

  /** In the place of a bank's earlier process, which has left: behind the others it could wait for banks that wait for it. */
  replace(kind: Kind): Promise<BridgeProcess> {
    return boundary('harness', () => this.#takeIdle(kind) ?? this.#start(kind));
  }

  /** Notes what a bank's process held, at its largest. */
  async measure(process: BridgeProcess): Promise<void> {
    const kind = this.#live.get(process);
    const bytes = await process.residentBytes();
    if (kind === undefined || bytes === undefined) return;
    this.#bytes.set(kind, Math.max(bytes, this.#bytes.get(kind) ?? 0));
  }

  /** Ends what is idle; open banks are their owners' to close. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const process of [...this.#idle.values()].flat()) process.kill('it was not needed');
    this.#idle.clear();
    await Promise.all([...this.#live.keys()].map(({ exited }) => exited));
  }

  async #admit(kind: Kind): Promise<BridgeProcess> {
    const process = this.#takeIdle(kind) ?? (await this.#startWhenItFits(kind));
    try {
      this.#warmUp(kind);
    } catch (cause) {
      process.kill('no second one could be started');
      throw cause;
    }
    return process;
  }

  async #startWhenItFits(kind: Kind): Promise<BridgeProcess> {
    while (!this.#closed && !(await this.#fits(kind))) {
      await Promise.race([...this.#live.keys()].map(({ exited }) => exited));
    }
    if (this.#closed) throw new FaultError('harness', 'the bridges are closed');
    return this.#start(kind);
  }

  #takeIdle(kind: Kind): BridgeProcess | undefined {
    const idle = this.#idle.get(kind) ?? [];
    for (let process = idle.shift(); process !== undefined; process = idle.shift()) {
      if (process.alive) return process;
    }
    return undefined;
  }

  #start(kind: Kind): BridgeProcess {
    const process = BridgeProcess.start(kind.spec, kind.runtime);
    this.#live.set(process, kind);
    void process.exited.then(() => this.#live.delete(process));
    return process;
  }

  /** Only where the budget has room for it beside what is open. */
  #warmUp(kind: Kind): void {
    const idle = this.#idle.get(kind) ?? [];
    const free = this.#budgetBytes - this.#reservedBytes();
    if (this.#closed || idle.length >= this.#warm) return;
    if (free < this.#bytesOf(kind)) return;
    this.#idle.set(kind, [...idle, this.#start(kind)]);
  }

  /** One process always fits: a machine too small for it shall say so itself. Idle ones make room. */
  async #fits(kind: Kind): Promise<boolean> {
    if (this.#live.size === 0) return true;
    const free = this.#budgetBytes - this.#reservedBytes();
    if (free >= this.#bytesOf(kind)) return true;
    const spare = [...this.#idle.values()].flatMap((idle) => idle.splice(0, 1));
    for (const process of spare) process.kill('its memory is needed');
    await Promise.all(spare.map(({ exited }) => exited));
    return spare.length > 0 && this.#fits(kind);
  }

  #reservedBytes(): number {
    return [...this.#live.values()].reduce((sum, kind) => sum + this.#bytesOf(kind), 0);
  }

  #bytesOf(kind: Kind): number {
    return this.#bytes.get(kind) ?? kind.spec.residentMegabytes * MEGABYTE;
  }
}

/** A container's limit where there is one. */
function availableBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained === undefined || constrained === 0
    ? totalmem()
    : Math.min(constrained, totalmem());
}
