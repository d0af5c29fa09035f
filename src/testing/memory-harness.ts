/** A memory framework small enough to read: real model calls over HTTP, one JSON file a bank, and every way to misbehave. */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Listing, Memory } from '../core/bank.ts';
import type { Endpoint } from '../core/chat.ts';
import type { Chunk } from '../core/conversation.ts';
import { renderMessage } from '../core/conversation.ts';
import { boundary, FaultError } from '../core/outcome.ts';
import type { RequestedOperation } from '../core/stage.ts';
import type { Bank, Harness, OpenOptions, WriteReport } from '../harness/contract.ts';
import { hashMultiset } from '../lib/hash.ts';
import { keepStage, renderKeepRequest } from './keep-stage.ts';

/** What a test can make go wrong at one moment. */
export type Misbehaviour =
  /** The framework dies in the write, or cannot be started. */
  | 'crash'
  /** The model is asked and its answer is not stored. */
  | 'lose-write'
  /** The write empties the store and reports success. */
  | 'wipe'
  /** The write reports success without asking the model. */
  | 'no-call'
  /** An answer that it cannot read is dropped, and the write reports success. */
  | 'swallow-malformed'
  /** The listing is one page of two. */
  | 'cap-listing'
  /** The bank on disk is not read. */
  | 'forget-parent'
  /** The store is a shared one that outlives its directory. */
  | 'left-over'
  /** The request goes to the endpoint of the bank that was opened first. */
  | 'wrong-slot'
  /** Reading stores what was asked. */
  | 'store-question'
  /** A text that cannot be embedded is left out, and the write reports success. */
  | 'skip-unembedded'
  /** A text that cannot be embedded is stored and never found, and the write reports success. */
  | 'hide-unembedded'
  /** A question that cannot be embedded finds nothing. */
  | 'find-nothing';

export interface Moment {
  readonly operation: 'open' | 'write' | 'list' | 'retrieve';
  readonly directory: string;
  readonly chunkId?: string;
}

export interface MemoryHarnessOptions {
  readonly configuration?: string;
  /** Every text that is stored, and every question, is embedded first; without this no embedding call is made. */
  readonly embeds?: boolean;
  readonly misbehave?: (moment: Moment) => Misbehaviour | undefined;
}

const PAGE = 2;

export function createMemoryHarness(options: MemoryHarnessOptions = {}): Harness {
  const state: Shared = {
    misbehave: options.misbehave ?? (() => undefined),
    embeds: options.embeds === true,
    first: undefined,
  };
  return {
    configuration: options.configuration ?? 'memory',
    version: 'memory@1',
    stages: [keepStage],
    heldOut: false,
    requiredStages: [keepStage.name],
    scenes: ['chat', 'working', 'coding'],
    sideEffects: [],
    open: (openOptions) => boundary('harness', () => openMemoryBank(openOptions, state)),
    [Symbol.asyncDispose]: async () => {},
  };
}

interface Shared {
  readonly misbehave: NonNullable<MemoryHarnessOptions['misbehave']>;
  readonly embeds: boolean;
  /** The model endpoint of the bank that was opened first. */
  first: Endpoint | undefined;
}

async function openMemoryBank(options: OpenOptions, shared: Shared): Promise<Bank> {
  await mkdir(options.dir, { recursive: true });
  shared.first ??= options.model;
  const trouble = shared.misbehave({ operation: 'open', directory: options.dir });
  if (trouble === 'crash') throw new FaultError('harness', 'the framework does not start');
  return new MemoryBank(options, shared, await memoriesOf(options.dir, trouble));
}

const NOTHING_ELSE: WriteReport = { sideEffects: [] };

type Operations = readonly RequestedOperation[];

async function memoriesOf(dir: string, trouble: Misbehaviour | undefined): Promise<Memory[]> {
  if (trouble === 'forget-parent') return [];
  if (trouble === 'left-over') return [{ id: 'old', text: 'pin is 4471', store: 'memory' }];
  return await load(dir);
}

class MemoryBank implements Bank {
  readonly #options: OpenOptions;
  readonly #shared: Shared;
  #memories: Memory[];
  readonly #hidden = new Set<string>();
  #dead = false;
  #changed = false;

  constructor(options: OpenOptions, shared: Shared, memories: Memory[]) {
    this.#options = options;
    this.#shared = shared;
    this.#memories = memories;
  }

  write(chunk: Chunk): Promise<WriteReport> {
    return boundary('harness', async () => {
      const trouble = this.#trouble('write', chunk.id);
      if (trouble === 'crash') {
        this.#dead = true;
        throw new FaultError('harness', 'the framework died');
      }
      if (trouble === 'no-call') return NOTHING_ELSE;
      const operations = await this.#askWriter(chunk, trouble);
      if (trouble === 'lose-write') return NOTHING_ELSE;
      if (trouble === 'wipe') this.#memories = [];
      else for (const operation of operations) await this.#embedAndStore(operation, trouble);
      this.#changed = true;
      return NOTHING_ELSE;
    });
  }

  list(): Promise<Listing> {
    const all = [...this.#memories];
    return Promise.resolve(this.#trouble('list') === 'cap-listing' ? all.slice(0, PAGE) : all);
  }

  async retrieve(question: string): Promise<string> {
    const trouble = this.#trouble('retrieve');
    if (trouble === 'store-question') this.#store({ kind: 'add', text: question });
    if (this.#shared.embeds && !(await embeds(this.#options.embeddings, question))) {
      if (trouble === 'find-nothing') return '';
      throw new FaultError('embedder', 'no vector');
    }
    return this.#memories
      .map(({ text }) => text)
      .filter((text) => !this.#hidden.has(text))
      .sort()
      .join('\n');
  }

  contentHash(): Promise<string> {
    return Promise.resolve(hashMultiset(this.#memories.map(({ text }) => text)));
  }

  /** Saves what changed; closing again does nothing. */
  async close(): Promise<void> {
    if (!this.#changed) return;
    this.#changed = false;
    await writeFile(bankFile(this.#options.dir), JSON.stringify(this.#memories));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#dead) throw new FaultError('harness', 'the framework is dead already');
    await this.close();
  }

  async #askWriter(chunk: Chunk, trouble: Misbehaviour | undefined): Promise<Operations> {
    const request = renderKeepRequest(chunk.messages.map(renderMessage), this.#memories);
    const model = trouble === 'wrong-slot' ? this.#firstModel() : this.#options.model;
    const verdict = keepStage.check(await ask(model, request), request);
    // As real frameworks do, it reports a malformed answer as a failure of its own.
    if (verdict.kind === 'malformed' && trouble === 'swallow-malformed') return [];
    if (verdict.kind === 'malformed') throw new FaultError('harness', 'cannot parse the answer');
    return verdict.operations;
  }

  async #embedAndStore(operation: RequestedOperation, trouble: Misbehaviour | undefined) {
    if (!this.#shared.embeds || operation.kind !== 'add') return this.#store(operation);
    const embedded = await embeds(this.#options.embeddings, operation.text);
    if (!embedded && trouble === 'skip-unembedded') return;
    if (!embedded && trouble !== 'hide-unembedded') throw new FaultError('embedder', 'no vector');
    if (!embedded) this.#hidden.add(operation.text);
    this.#store(operation);
  }

  #store(operation: RequestedOperation): void {
    if (operation.kind !== 'add') return;
    const { text } = operation;
    if (this.#memories.some((memory) => memory.text === text)) return;
    this.#memories.push({ id: randomUUID(), text, store: 'memory' });
  }

  #firstModel(): Endpoint {
    if (this.#shared.first === undefined) throw new Error('no bank was opened');
    return { ...this.#shared.first, apiKey: this.#options.model.apiKey };
  }

  #trouble(operation: Moment['operation'], chunkId?: string): Misbehaviour | undefined {
    const directory = this.#options.dir;
    const where = chunkId === undefined ? {} : { chunkId };
    return this.#shared.misbehave({ operation, directory, ...where });
  }
}

function bankFile(directory: string): string {
  return join(directory, 'bank.json');
}

async function load(directory: string): Promise<Memory[]> {
  try {
    return JSON.parse(await readFile(bankFile(directory), 'utf8'));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return [];
    throw cause;
  }
}

async function embeds({ baseUrl, apiKey, model }: Endpoint, input: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model, input }),
    });
    await response.text();
    return response.ok;
  } catch (cause) {
    if (cause instanceof TypeError) return false; // the connection was cut
    throw cause;
  }
}

async function ask({ baseUrl, apiKey, model }: Endpoint, messages: unknown): Promise<string> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages }),
  });
  if (!response.ok) throw new FaultError('harness', `the model answered ${response.status}`);
  const body: { choices: { message: { content: string } }[] } = JSON.parse(await response.text());
  const content = body.choices[0]?.message.content;
  if (content === undefined) throw new FaultError('harness', 'the model answered nothing');
  return content;
}
