/** The main thread's end of a bank worker: typed requests, each with a deadline; a worker that hangs is ended. */
import { Worker } from 'node:worker_threads';
import type { z } from 'zod';
import { FaultError } from '../../../core/outcome.ts';
import { type BankRequest, replySchema } from './protocol.ts';

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: FaultError) => void;
}

export class WorkerThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #nextId = 0;
  #failure: FaultError | undefined;

  /** `stateDir` takes what the SDK keeps for a user account beside the bank; it never touches the home directory. */
  constructor(stateDir: string) {
    this.#worker = new Worker(new URL('./worker.mjs', import.meta.url), {
      env: { MEM0_TELEMETRY: 'false', MEM0_DIR: stateDir },
      execArgv: [],
    });
    this.#worker.on('message', (message) => this.#settle(message));
    this.#worker.on('error', (error) => this.#fail(`bank worker failed: ${error.message}`));
    this.#worker.on('exit', (code) => this.#fail(`bank worker ended with code ${code}`));
    this.#worker.unref();
  }

  get alive(): boolean {
    return this.#failure === undefined;
  }

  /** Rejects with a `FaultError`; past the deadline the worker is ended and every later request rejects too. */
  async request<T>(
    request: BankRequest,
    { schema, timeoutMs }: { readonly schema: z.ZodType<T>; readonly timeoutMs: number },
  ): Promise<T> {
    if (this.#failure !== undefined) throw this.#failure;
    const id = this.#nextId++;
    const timer = setTimeout(() => {
      this.#fail(`${request.kind} took longer than ${timeoutMs} ms`);
      void this.terminate();
    }, timeoutMs);
    const value = await new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.ref();
      this.#worker.postMessage({ id, request });
    }).finally(() => clearTimeout(timer));
    return schema.parse(value);
  }

  /** Ends the thread whatever it is doing; the bank's directory is then as a killed process leaves it. */
  async terminate(reason = 'bank worker was ended'): Promise<void> {
    this.#fail(reason);
    await this.#worker.terminate();
  }

  #settle(message: unknown): void {
    const reply = replySchema.parse(message);
    if (reply.kind === 'ready') return;
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0) this.#worker.unref();
    if (reply.kind === 'done') pending.resolve(reply.value);
    else pending.reject(new FaultError(reply.boundary, reply.message));
  }

  #fail(message: string): void {
    this.#failure ??= new FaultError('harness', message);
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}
