/** An open Mem0 bank: its directory's lock and identity, and the worker that holds the SDK. */
import { mkdir } from 'node:fs/promises';
import type { z } from 'zod';
import type { Listing } from '../../../core/bank.ts';
import type { Chunk, Message } from '../../../core/conversation.ts';
import { boundary, FaultError } from '../../../core/outcome.ts';
import { createPool } from '../../../lib/pool.ts';
import { claimIdentity } from '../../bank-identity.ts';
import { type BankLock, lockBank } from '../../bank-lock.ts';
import type { Bank, OpenOptions, WriteReport } from '../../contract.ts';
import type { WorkerPool } from './pool.ts';
import { type BankRequest, listedSchema, nothingSchema, textSchema } from './protocol.ts';
import type { WorkerThread } from './worker-thread.ts';

export interface Mem0BankOptions {
  readonly pool: WorkerPool;
  /** Hits a block shows at most. */
  readonly topK: number;
  /** Hits below this cosine similarity are left out, as the SDK does. */
  readonly threshold: number;
  /** For each request to the worker; past it the worker is ended. Longer than the SDK's own three attempts. */
  readonly timeoutMs: number;
}

export async function openMem0Bank(
  options: OpenOptions,
  { framework, ...own }: Mem0BankOptions & { readonly framework: string },
): Promise<Bank> {
  const { dir, embeddings } = options;
  await boundary('store', () => mkdir(dir, { recursive: true }));
  const lock = await boundary('store', () => lockBank(dir));
  const worker = own.pool.acquire();
  const bank = new Mem0Bank({ ...own, worker, lock, signal: options.signal });
  try {
    await boundary('store', () =>
      claimIdentity(dir, {
        framework,
        embeddingModel: embeddings.model,
        embeddingDimensions: embeddings.dimensions,
      }),
    );
    await bank.open(options);
    return bank;
  } catch (cause) {
    await worker.terminate();
    await bank.close();
    throw cause;
  }
}

class Mem0Bank implements Bank {
  readonly #worker: WorkerThread;
  readonly #lock: BankLock;
  readonly #options: Mem0BankOptions;
  readonly #signal: AbortSignal | undefined;
  /** Overlapping retrievals save a third of their time; more at once only hold more sockets. */
  readonly #retrievals = createPool(8);
  #closing: Promise<void> | undefined;

  constructor({
    worker,
    lock,
    signal,
    ...options
  }: Mem0BankOptions & {
    readonly worker: WorkerThread;
    readonly lock: BankLock;
    readonly signal: AbortSignal | undefined;
  }) {
    this.#worker = worker;
    this.#lock = lock;
    this.#options = options;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#abort);
  }

  /** The SDK's own model calls are the caller's to refuse with HTTP 400: 429 and 5xx it repeats twice. */
  async open({ dir, model, embeddings, now }: OpenOptions): Promise<void> {
    await boundary('harness', () => {
      this.#signal?.throwIfAborted();
      // Without a base URL the SDK's client would turn to its maker's service.
      for (const { baseUrl } of [model, embeddings]) new URL(baseUrl);
    });
    const request = {
      kind: 'open',
      dir,
      model: { ...model },
      embeddings: { ...embeddings },
    } as const;
    await this.#request({ ...request, now: wallTime(now) }, nothingSchema);
  }

  async write(chunk: Chunk): Promise<WriteReport> {
    const messages = chunk.messages.map(({ role, speaker, text }: Message) => ({
      role,
      content: speaker === undefined ? text : `${speaker}: ${text}`,
    }));
    await this.#request({ kind: 'write', now: wallTime(chunk.at), messages }, nothingSchema);
    return { sideEffects: [] };
  }

  async list(): Promise<Listing> {
    const listed = await this.#request({ kind: 'list' }, listedSchema);
    return listed.map((memory) => ({ ...memory, store: 'memory' }));
  }

  retrieve(question: string): Promise<string> {
    const { topK, threshold } = this.#options;
    return this.#retrievals.run(() =>
      this.#request({ kind: 'retrieve', question, topK, threshold }, textSchema),
    );
  }

  contentHash(): Promise<string> {
    return this.#request({ kind: 'hash' }, textSchema);
  }

  /** Also of a bank whose worker is gone: its directory is free, but may hold half a write. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#abort);
    try {
      if (this.#worker.alive) await this.#send({ kind: 'close' }, nothingSchema);
    } finally {
      await this.#options.pool.release(this.#worker);
      await this.#lock.release();
    }
  }

  readonly #abort = (): void => {
    void this.#worker.terminate('aborted');
  };

  /** A closed bank's worker may hold another bank by now. */
  async #request<T>(request: BankRequest, schema: z.ZodType<T>): Promise<T> {
    if (this.#closing !== undefined) throw new FaultError('harness', 'the bank is closed');
    return this.#send(request, schema);
  }

  #send<T>(request: BankRequest, schema: z.ZodType<T>): Promise<T> {
    return this.#worker.request(request, { schema, timeoutMs: this.#options.timeoutMs });
  }
}

/**
 * Mem0 prints UTC days. The clock shows the conversation's own wall time, its offset dropped, so that the day in prompts
 * and blocks is the day on which its speakers spoke.
 */
function wallTime(at: string): string {
  const local = at.replace(/(?:Z|[+-]\d{2}:?\d{2})$/, '');
  return new Date(`${local}Z`).toISOString();
}
