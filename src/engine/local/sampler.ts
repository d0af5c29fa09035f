/** Continuous batching: calls join and leave a running decode batch, each with its own random stream. */
import { createRng, type Rng } from '../../lib/rng.ts';
import { type Completion, ContextOverflowError, type SampleOptions } from '../contract.ts';
import type { LlamaConfig } from './config.ts';
import { drawToken } from './draw.ts';
import { type Executor, floats, type Program, type Tensors } from './executor.ts';
import { buildInferenceGraph, type InferenceRun, inferenceFeeds } from './inference.ts';
import { KeyValueCache } from './key-value-cache.ts';
import type { PublishedWeights } from './published.ts';

const SLOTS = 64;
/** Batch sizes of a decode run: products of at least this many rows round the same whatever their number. */
const BATCH_MULTIPLE = 8;
const LENGTH_MULTIPLE = 32;
const PREFILL_TOKENS = 4096;

interface Call {
  readonly promptIds: readonly number[];
  readonly options: SampleOptions;
  readonly weights: PublishedWeights;
  readonly rng: Rng;
  readonly tokenIds: number[];
  readonly logprobs: number[];
  resolve(completion: Completion): void;
  reject(reason: unknown): void;
}

export class Sampler implements AsyncDisposable {
  readonly #config: LlamaConfig;
  readonly #executor: () => Promise<Executor>;
  readonly #waiting: Call[] = [];
  /** The call at index i owns slot i of the cache. */
  readonly #active: Call[] = [];
  #program: Promise<Program> | undefined;
  #cache: KeyValueCache | undefined;
  #loop: Promise<void> | undefined;

  constructor(config: LlamaConfig, executor: () => Promise<Executor>) {
    this.#config = config;
    this.#executor = executor;
  }

  async sample(
    promptIds: readonly number[],
    options: SampleOptions,
    weights: PublishedWeights,
  ): Promise<Completion> {
    this.#check(promptIds, options);
    const rng = createRng(options.seed);
    const completion = new Promise<Completion>((resolve, reject) => {
      const state = { rng, tokenIds: [], logprobs: [], resolve, reject };
      this.#waiting.push({ promptIds, options, weights, ...state });
    });
    this.#loop ??= this.#run();
    return completion;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop;
    const program = await this.#program;
    await program?.[Symbol.asyncDispose]();
    this.#program = undefined;
  }

  #check(promptIds: readonly number[], { maxTokens, signal }: SampleOptions): void {
    signal?.throwIfAborted();
    const { contextLength, vocabularySize } = this.#config;
    if (promptIds.length + 1 > contextLength) {
      throw new ContextOverflowError(
        `the prompt has ${promptIds.length} tokens; the context holds ${contextLength} with the answer`,
      );
    }
    if (promptIds.length === 0) throw new Error('the prompt is empty');
    if (maxTokens < 1) throw new Error(`maxTokens must be at least 1, not ${maxTokens}`);
    const foreign = promptIds.find((id) => !(id >= 0 && id < vocabularySize));
    if (foreign !== undefined) throw new Error(`token ${foreign} is not in the vocabulary`);
  }

  async #run(): Promise<void> {
    // Lets every call of this turn of the event loop join the first batch.
    await new Promise(setImmediate);
    while (this.#waiting.length + this.#active.length > 0) {
      try {
        this.#dropAborted();
        await this.#advance();
      } catch (cause) {
        // A failed run concerns every call that waits for it; each hears of it.
        const calls = [...this.#active.splice(0), ...this.#waiting.splice(0)];
        for (const call of calls) call.reject(cause);
      }
    }
    // Here and not in a later microtask: a call made in between would find nobody to serve it.
    this.#loop = undefined;
  }

  /** Takes in waiting calls that want the weights in use, then decodes one token for every running call. */
  async #advance(): Promise<void> {
    const weights = (this.#active[0] ?? this.#waiting[0])?.weights;
    if (weights === undefined) return;
    const fresh: Call[] = [];
    while (this.#waiting[0]?.weights === weights && this.#active.length + fresh.length < SLOTS) {
      const call = this.#waiting.shift();
      if (call !== undefined) fresh.push(call);
    }
    for (const group of prefillGroups(fresh, this.#config.contextLength)) {
      await this.#prefill(group, weights);
    }
    if (this.#active.length > 0) await this.#decode(weights);
  }

  /** One run over the distinct prompts, into the slots after the running ones; the others copy. */
  async #prefill(calls: readonly Call[], weights: PublishedWeights): Promise<void> {
    const groups = byPrompt(calls);
    const prompts = groups.map(([first]) => first.promptIds);
    const longest = Math.max(...prompts.map((prompt) => prompt.length));
    const length = paddedLength(longest, this.#config.contextLength);
    const start = this.#active.length;
    const tokens = new Int32Array(prompts.length * length);
    for (const [row, prompt] of prompts.entries()) tokens.set(prompt, row * length);
    const ends = prompts.map((prompt) => prompt.length - 1);
    const rows = ends.map((end, row) => row * length + end);
    const run = { length, tokens, ends, rows, total: length };
    const results = await this.#forward(weights, start, run);
    const placed = groups.map(([call], row) => ({ call, row }));
    for (const [row, [, ...copies]] of groups.entries()) {
      for (const call of copies) {
        const slots = { from: start + row, to: start + placed.length };
        this.#cacheOf().copy({ ...slots, length: call.promptIds.length });
        placed.push({ call, row });
      }
    }
    this.#active.push(...placed.map(({ call }) => call));
    for (const { call, row } of placed) this.#draw(call, results, row);
    this.#retire();
  }

  async #decode(weights: PublishedWeights): Promise<void> {
    const count = Math.ceil(this.#active.length / BATCH_MULTIPLE) * BATCH_MULTIPLE;
    const tokens = new Int32Array(count);
    const ends = new Array<number>(count).fill(1);
    for (const [row, { promptIds, tokenIds }] of this.#active.entries()) {
      tokens[row] = tokenIds.at(-1) ?? 0;
      ends[row] = promptIds.length + tokenIds.length - 1;
    }
    const rows = ends.map((_, row) => row);
    const run = { length: 1, tokens, ends, rows, total: Math.max(...ends) + 1 };
    const results = await this.#forward(weights, 0, run);
    for (const [row, call] of this.#active.entries()) this.#draw(call, results, row);
    this.#retire();
  }

  #draw(call: Call, results: Tensors, row: number): void {
    const size = this.#config.vocabularySize;
    const logprobs = floats(results, 'logprobs');
    const distribution = {
      logprobs,
      probabilities: floats(results, 'probabilities'),
      start: row * size,
      size,
    };
    const token = drawToken(distribution, call.options.temperature, call.rng.next());
    call.tokenIds.push(token);
    call.logprobs.push(Number(logprobs[row * size + token]));
  }

  /** Answers finished calls; the last running call moves into each freed slot. */
  #retire(): void {
    for (let slot = this.#active.length - 1; slot >= 0; slot--) {
      const call = this.#active[slot];
      const stopReason = call && this.#stopReason(call);
      if (call === undefined || stopReason === undefined) continue;
      this.#free(slot);
      const { tokenIds, logprobs, weights } = call;
      call.resolve({ tokenIds, logprobs, stopReason, policyVersion: weights.version });
    }
  }

  #stopReason({ promptIds, tokenIds, options }: Call): Completion['stopReason'] | undefined {
    const last = tokenIds.at(-1);
    if (last !== undefined && options.stopIds.includes(last)) return 'stop';
    const full = promptIds.length + tokenIds.length >= this.#config.contextLength;
    return full || tokenIds.length >= options.maxTokens ? 'length' : undefined;
  }

  #free(slot: number): void {
    const last = this.#active.pop();
    if (last === undefined || slot === this.#active.length) return;
    const length = last.promptIds.length + last.tokenIds.length;
    this.#cacheOf().copy({ from: this.#active.length, to: slot, length });
    this.#active[slot] = last;
  }

  #dropAborted(): void {
    for (let index = this.#waiting.length - 1; index >= 0; index--) {
      const call = this.#waiting[index];
      if (!call?.options.signal?.aborted) continue;
      this.#waiting.splice(index, 1);
      call.reject(call.options.signal.reason);
    }
    for (let slot = this.#active.length - 1; slot >= 0; slot--) {
      const call = this.#active[slot];
      if (!call?.options.signal?.aborted) continue;
      this.#free(slot);
      call.reject(call.options.signal.reason);
    }
  }

  async #forward(weights: PublishedWeights, start: number, run: InferenceRun): Promise<Tensors> {
    this.#program ??= this.#executor().then((executor) =>
      executor.compile(buildInferenceGraph(this.#config, { kind: 'sample' })),
    );
    const program = await this.#program;
    const { feeds, into } = this.#cacheOf().window({ start, count: run.ends.length });
    return program.run({ ...weights.tensors, ...inferenceFeeds(run), ...feeds }, into);
  }

  #cacheOf(): KeyValueCache {
    this.#cache ??= new KeyValueCache(this.#config, SLOTS);
    return this.#cache;
  }
}

/** Splits so that no prefill exceeds the budget; order is kept. */
function prefillGroups(calls: readonly Call[], contextLength: number): Call[][] {
  const groups: Call[][] = [];
  let longest = 0;
  for (const call of calls) {
    const group = groups.at(-1);
    longest = Math.max(longest, paddedLength(call.promptIds.length, contextLength));
    if (group !== undefined && (group.length + 1) * longest <= PREFILL_TOKENS) {
      group.push(call);
    } else {
      groups.push([call]);
      longest = paddedLength(call.promptIds.length, contextLength);
    }
  }
  return groups;
}

/** Calls with the same prompt, which is computed once. */
function byPrompt(calls: readonly Call[]): [Call, ...Call[]][] {
  const groups = new Map<string, [Call, ...Call[]]>();
  for (const call of calls) {
    const key = call.promptIds.join();
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [call]);
    else group.push(call);
  }
  return [...groups.values()];
}

function paddedLength(length: number, contextLength: number): number {
  return Math.min(contextLength, Math.ceil(length / LENGTH_MULTIPLE) * LENGTH_MULTIPLE);
}
