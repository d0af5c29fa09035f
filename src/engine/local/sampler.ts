/** Continuous batching: calls join and leave a running decode batch, each with its own random stream. */
import { createRng, type Rng } from '../../lib/rng.ts';
import { type Completion, ContextOverflowError, type SampleOptions } from '../contract.ts';
import type { LlamaConfig } from './config.ts';
import { buildDecodeGraph } from './decode.ts';
import { LENGTH_MULTIPLE } from './decoder.ts';
import { drawToken } from './draw.ts';
import { type Executor, type FloatArray, floats, type Program } from './executor.ts';
import { buildInferenceGraph, inferenceFeeds } from './inference.ts';
import { KeyValueCache } from './key-value-cache.ts';
import type { PublishedWeights } from './published.ts';

const SLOTS = 64;
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
  readonly #cache: KeyValueCache;
  #prefiller: Promise<Program> | undefined;
  #decoder: Decoder | undefined;
  #loop: Promise<void> | undefined;

  constructor(config: LlamaConfig, executor: () => Promise<Executor>) {
    this.#config = config;
    this.#executor = executor;
    this.#cache = new KeyValueCache(config, SLOTS);
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
    await this.#dropDecoder();
    const prefiller = await this.#prefiller;
    this.#prefiller = undefined;
    await prefiller?.[Symbol.asyncDispose]();
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
    for (const group of prefillGroups(fresh)) {
      await this.#prefill(group, weights);
    }
    if (this.#active.length > 0) await this.#decode(weights);
  }

  /** One run over the distinct prompts; calls with the same prompt get copies of its keys and values. */
  async #prefill(calls: readonly Call[], weights: PublishedWeights): Promise<void> {
    const groups = byPrompt(calls);
    const prompts = groups.map(([first]) => first.promptIds);
    const length = Math.max(...prompts.map(paddedLength));
    const tokens = new Int32Array(prompts.length * length);
    for (const [row, prompt] of prompts.entries()) tokens.set(prompt, row * length);
    const rows = Int32Array.from(prompts, (prompt, row) => row * length + prompt.length - 1);
    const prefill = await this.#prefillProgram();
    const batch = { batch: prompts.length, length, tokens, rows };
    const results = await prefill.run(inferenceFeeds(this.#config, batch, weights));
    const logprobs = floats(results, 'logprobs');
    const probabilities = logprobs.map(Math.exp);
    this.#cache.reserve(Math.max(...prompts.map((prompt) => prompt.length)) + 1);
    for (const [row, group] of groups.entries()) {
      for (const call of group) {
        const prompt = { row, length: call.promptIds.length, padded: length };
        this.#cache.load(this.#active.length, results, prompt);
        this.#active.push(call);
        this.#draw(call, { logprobs, probabilities, row });
      }
    }
    this.#retire();
  }

  async #decode(weights: PublishedWeights): Promise<void> {
    const active = this.#active.length;
    const count = Math.max(2, active);
    const tokens = new Int32Array(count);
    const positions = new BigInt64Array(count);
    for (const [row, { tokenIds }] of this.#active.entries()) {
      tokens[row] = Number(tokenIds.at(-1));
      positions[row] = BigInt(this.#cache.length(row));
    }
    this.#cache.reserve(Math.max(...this.#active.map((_, row) => this.#cache.length(row))) + 1);
    const decode = await this.#decodeProgram(weights);
    const results = await decode.run({
      ...this.#cache.feeds(count),
      tokens: { dims: [count], data: tokens },
      positions: { dims: [count, 1], data: positions },
    });
    this.#cache.append(results, active);
    const logprobs = floats(results, 'logprobs');
    const probabilities = floats(results, 'probabilities');
    for (const [row, call] of this.#active.entries()) {
      this.#draw(call, { logprobs, probabilities, row });
    }
    this.#retire();
  }

  #draw(call: Call, { logprobs, probabilities, row }: DrawnRow): void {
    const size = this.#config.vocabularySize;
    const distribution = { logprobs, probabilities, start: row * size, size };
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
    const lastSlot = this.#active.length;
    if (last !== undefined && slot !== lastSlot) {
      this.#cache.move(lastSlot, slot);
      this.#active[slot] = last;
    }
    this.#cache.clear(lastSlot);
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

  #prefillProgram(): Promise<Program> {
    this.#prefiller ??= this.#executor().then((executor) =>
      executor.compile(buildInferenceGraph(this.#config, { kind: 'prefill' }), { alone: false }),
    );
    return this.#prefiller;
  }

  /** The decode program carries its weights, so that there is one for each publication. */
  async #decodeProgram(weights: PublishedWeights): Promise<Program> {
    if (this.#decoder?.weights !== weights) {
      await this.#dropDecoder();
      const program = this.#executor().then((executor) =>
        executor.compile(buildDecodeGraph(this.#config, weights.tensors), { alone: false }),
      );
      this.#decoder = { weights, program };
    }
    return this.#decoder.program;
  }

  async #dropDecoder(): Promise<void> {
    const program = await this.#decoder?.program;
    this.#decoder = undefined;
    await program?.[Symbol.asyncDispose]();
  }
}

interface Decoder {
  readonly weights: PublishedWeights;
  readonly program: Promise<Program>;
}

interface DrawnRow {
  readonly logprobs: FloatArray;
  readonly probabilities: FloatArray;
  readonly row: number;
}

/**
 * Prompts of one padded length go together, at most `PREFILL_TOKENS` of them: what a call gets then does not
 * depend on the length of others.
 */
function prefillGroups(calls: readonly Call[]): Call[][] {
  const groups: Call[][] = [];
  const open = new Map<number, Call[]>();
  for (const call of calls) {
    const length = paddedLength(call.promptIds);
    const group = open.get(length);
    if (group !== undefined && (group.length + 1) * length <= PREFILL_TOKENS) {
      group.push(call);
    } else {
      const fresh = [call];
      open.set(length, fresh);
      groups.push(fresh);
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

function paddedLength(prompt: readonly number[]): number {
  return Math.ceil(prompt.length / LENGTH_MULTIPLE) * LENGTH_MULTIPLE;
}
