/** An open bank of a Python framework: its directory's lock and identity, and the process that holds it. */
import { mkdir } from 'node:fs/promises';
import type { z } from 'zod';
import type { Listing } from '../../core/bank.ts';
import type { Chunk } from '../../core/conversation.ts';
import { boundary, FaultError } from '../../core/outcome.ts';
import { createPool } from '../../lib/pool.ts';
import { claimIdentity } from '../bank-identity.ts';
import { type BankLock, lockBank } from '../bank-lock.ts';
import type { Bank, OpenOptions, WriteReport } from '../contract.ts';
import type { BridgePool, Kind } from './pool.ts';
import type { BridgeProcess } from './process.ts';
import {
  type BridgeRequest,
  blockSchema,
  hashSchema,
  listedSchema,
  nothingSchema,
  writtenSchema,
} from './protocol.ts';

export interface BridgeBankOptions {
  readonly pool: BridgePool;
  readonly kind: Kind;
  /** Package and version, part of the bank's identity. */
  readonly framework: string;
  /** Memories in a retrieved block. */
  readonly topK: number;
  readonly openTimeoutMs: number;
  readonly timeoutMs: number;
}

export async function openBridgeBank(
  options: OpenOptions,
  own: BridgeBankOptions,
): Promise<BridgeBank> {
  const { dir, embeddings, signal } = options;
  await boundary('store', () => mkdir(dir, { recursive: true }));
  const lock = await boundary('store', () => lockBank(dir));
  try {
    await boundary('harness', () => signal?.throwIfAborted());
    await boundary('store', () =>
      claimIdentity(dir, {
        framework: own.framework,
        embeddingModel: embeddings.model,
        embeddingDimensions: embeddings.dimensions,
      }),
    );
    const bank = new BridgeBank(options, own, lock);
    await bank.open();
    return bank;
  } catch (cause) {
    await lock.release();
    throw cause;
  }
}

export class BridgeBank implements Bank {
  readonly #options: OpenOptions;
  readonly #own: BridgeBankOptions;
  readonly #lock: BankLock;
  /** The framework is asked one thing at a time. */
  readonly #line = createPool(1);
  #process: BridgeProcess | undefined;
  #day = '';
  #closing: Promise<void> | undefined;

  constructor(options: OpenOptions, own: BridgeBankOptions, lock: BankLock) {
    this.#options = options;
    this.#own = own;
    this.#lock = lock;
    options.signal?.addEventListener('abort', this.#abort);
  }

  /** Of the process that holds the bank now. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async open(): Promise<void> {
    const { pool, kind } = this.#own;
    const { now, signal } = this.#options;
    try {
      await this.#start(await pool.acquire(kind, signal), now);
    } catch (cause) {
      signal?.removeEventListener('abort', this.#abort);
      throw cause;
    }
  }

  async #start(process: BridgeProcess, now: string): Promise<void> {
    const { kind, openTimeoutMs: timeoutMs } = this.#own;
    const { dir, model, embeddings } = this.#options;
    this.#process = process;
    this.#day = dayOf(now);
    if (this.#options.signal?.aborted) this.#abort();
    const request: BridgeRequest = {
      op: 'open',
      dir,
      model: { ...model },
      embeddings: { ...embeddings },
      now,
      settings: kind.spec.settings,
    };
    try {
      await process.request(request, { schema: nothingSchema, timeoutMs });
    } catch (cause) {
      this.#process = undefined;
      process.kill('its bank could not be opened');
      await process.exited;
      throw cause;
    }
  }

  async write(chunk: Chunk): Promise<WriteReport> {
    const { kind } = this.#own;
    if (!kind.spec.scenes.includes(chunk.scene)) {
      throw new FaultError(
        'harness',
        `chunk ${chunk.id} is of scene ${chunk.scene}, and ${kind.spec.configuration} takes ${kind.spec.scenes.join(', ')}`,
      );
    }
    if (kind.spec.restartsOnNewDay === true && dayOf(chunk.at) !== this.#day) {
      await this.#reopen(chunk.at);
    }
    const { id: chunkId, sessionId, index, at, messages } = chunk;
    const request = { op: 'write', chunkId, sessionId, index, at, messages } as const;
    const report = await this.#ask(request, writtenSchema);
    // Nobody waits for it: a memory that is planned a moment late does no harm.
    if (this.#process !== undefined) void this.#own.pool.measure(this.#process);
    return report;
  }

  async list(): Promise<Listing> {
    const { memories, count } = await this.#ask({ op: 'list' }, listedSchema);
    if (memories.length !== count) {
      throw new FaultError(
        'store',
        `capped listing: ${memories.length} memories listed, and the store holds ${count}`,
      );
    }
    return memories;
  }

  async retrieve(question: string): Promise<string> {
    const { topK } = this.#own;
    return (await this.#ask({ op: 'retrieve', question, topK }, blockSchema)).block;
  }

  async contentHash(): Promise<string> {
    return (await this.#ask({ op: 'hash' }, hashSchema)).hash;
  }

  /** Also of a bank whose process is gone: its directory is free, but may hold half a write. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#abort);
    try {
      await this.#line.run(() => this.#end());
    } finally {
      await this.#lock.release();
    }
  }

  /**
   * The directory is free once "close" is answered; the process may take its time to leave. Without that answer it must be
   * gone, or it could still write.
   */
  async #end(): Promise<BridgeProcess | undefined> {
    const process = this.#process;
    if (process === undefined) return undefined;
    this.#process = undefined;
    try {
      const { timeoutMs } = this.#own;
      if (process.alive)
        await process.request({ op: 'close' }, { schema: nothingSchema, timeoutMs });
    } catch (cause) {
      process.kill('it could not close its bank');
      throw cause;
    } finally {
      if (process.alive) void process.stop();
      else await process.exited;
    }
    return process;
  }

  async #reopen(now: string): Promise<void> {
    await this.#line.run(async () => {
      await (await this.#end())?.stop();
      await this.#start(await this.#own.pool.replace(this.#own.kind), now);
    });
  }

  readonly #abort = (): void => {
    this.#process?.kill('it was aborted');
  };

  async #ask<T>(request: BridgeRequest, schema: z.ZodType<T>): Promise<T> {
    if (this.#closing !== undefined) throw new FaultError('harness', 'the bank is closed');
    return await this.#line.run(async () => {
      const process = this.#process;
      if (process === undefined) throw new FaultError('harness', 'the bank has no process');
      return await process.request(request, { schema, timeoutMs: this.#own.timeoutMs });
    });
  }
}

function dayOf(at: string): string {
  return at.slice(0, 10);
}
