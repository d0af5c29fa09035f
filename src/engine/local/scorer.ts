/** Forward-only answers over whole segments: log-probabilities of given tokens, and the k likeliest at each position. */
import type { TopK } from '../../core/policy.ts';
import {
  type BatchLimits,
  packSegments,
  type Segment,
  type SegmentBatch,
  targets,
} from './batches.ts';
import type { LlamaConfig } from './config.ts';
import { type Executor, floats, type Program, type Tensors } from './executor.ts';
import {
  atLeastTwo,
  buildInferenceGraph,
  type InferenceHead,
  inferenceFeeds,
} from './inference.ts';
import type { PublishedWeights } from './published.ts';

const BATCH_TOKENS = 4096;

interface Call extends Segment {
  readonly weights: PublishedWeights;
  resolve(rows: RowRange): void;
  reject(reason: unknown): void;
}

/** A call's rows within the results of the batch that answered it. */
interface RowRange {
  readonly results: Tensors;
  readonly start: number;
  readonly count: number;
}

/** Answers calls with one kind of head; calls made in the same turn of the event loop share batches. */
class BatchedForward implements AsyncDisposable {
  readonly #config: LlamaConfig;
  readonly #executor: () => Promise<Executor>;
  readonly #head: InferenceHead;
  #waiting: Call[] = [];
  #program: Promise<Program> | undefined;
  #loop: Promise<void> | undefined;

  constructor(config: LlamaConfig, executor: () => Promise<Executor>, head: InferenceHead) {
    this.#config = config;
    this.#executor = executor;
    this.#head = head;
  }

  async ask(segment: Segment, weights: PublishedWeights): Promise<RowRange> {
    packSegments([segment], this.#limits());
    const answer = new Promise<RowRange>((resolve, reject) => {
      this.#waiting.push({ ...segment, weights, resolve, reject });
    });
    this.#loop ??= this.#run();
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop;
    const program = await this.#program;
    await program?.[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const calls = this.#waiting;
      this.#waiting = [];
      const byWeights = new Map<PublishedWeights, Call[]>();
      for (const call of calls) {
        byWeights.set(call.weights, [...(byWeights.get(call.weights) ?? []), call]);
      }
      for (const [weights, group] of byWeights) {
        for (const batch of packSegments(group, this.#limits())) await this.#answer(batch, weights);
      }
    }
    // Here and not in a later microtask: a call made in between would find nobody to serve it.
    this.#loop = undefined;
  }

  #limits(): BatchLimits {
    const { contextLength, vocabularySize } = this.#config;
    return { maxTokens: BATCH_TOKENS, contextLength, vocabularySize, uniform: true };
  }

  async #answer(batch: SegmentBatch<Call>, weights: PublishedWeights): Promise<void> {
    try {
      const results = await this.#forward(batch, weights);
      let start = 0;
      for (const call of batch.segments) {
        const count = call.tokenIds.length - call.from;
        call.resolve({ results, start, count });
        start += count;
      }
    } catch (cause) {
      for (const call of batch.segments) call.reject(cause);
    }
  }

  async #forward(batch: SegmentBatch<Call>, weights: PublishedWeights): Promise<Tensors> {
    this.#program ??= this.#executor().then((executor) =>
      executor.compile(buildInferenceGraph(this.#config, this.#head), { alone: false }),
    );
    const program = await this.#program;
    const feeds = inferenceFeeds(this.#config, batch, weights);
    const ids = atLeastTwo(targets(batch));
    const extra = this.#head.kind === 'score' ? { ids: { dims: [ids.length, 1], data: ids } } : {};
    return program.run({ ...feeds, ...extra });
  }
}

export class Scorer implements AsyncDisposable {
  readonly #forward: BatchedForward;

  constructor(config: LlamaConfig, executor: () => Promise<Executor>) {
    this.#forward = new BatchedForward(config, executor, { kind: 'score' });
  }

  /** log p(tokenIds[i] | tokenIds[<i]) for i in [from, length). */
  async score(segment: Segment, weights: PublishedWeights): Promise<readonly number[]> {
    const { results, start, count } = await this.#forward.ask(segment, weights);
    return Array.from(floats(results, 'logprobs').subarray(start, start + count));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#forward[Symbol.asyncDispose]();
  }
}

export class TopKScorer implements AsyncDisposable {
  readonly #config: LlamaConfig;
  readonly #executor: () => Promise<Executor>;
  /** One program for each k asked for. */
  readonly #forwards = new Map<number, BatchedForward>();

  constructor(config: LlamaConfig, executor: () => Promise<Executor>) {
    this.#config = config;
    this.#executor = executor;
  }

  async topK(
    segment: Segment,
    { k, weights }: { readonly k: number; readonly weights: PublishedWeights },
  ): Promise<readonly (TopK | undefined)[]> {
    const { results, start, count } = await this.#forwardOf(k).ask(segment, weights);
    const logprobs = floats(results, 'logprobs');
    const ids = results['ids']?.data;
    if (!(ids instanceof BigInt64Array)) throw new Error('the top ids are missing');
    const size = this.#width(k);
    return Array.from({ length: count }, (_, index): TopK | undefined => {
      const at = (start + index) * size;
      const row = Array.from(logprobs.subarray(at, at + size));
      const rowIds = Array.from(ids.subarray(at, at + size), Number);
      return row.every(Number.isFinite) ? { ids: rowIds, logprobs: row } : undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const forward of this.#forwards.values()) await forward[Symbol.asyncDispose]();
  }

  #width(k: number): number {
    return Math.min(k, this.#config.vocabularySize);
  }

  #forwardOf(k: number): BatchedForward {
    const width = this.#width(k);
    const known = this.#forwards.get(width);
    if (known !== undefined) return known;
    const head: InferenceHead = { kind: 'topK', k: width };
    const forward = new BatchedForward(this.#config, this.#executor, head);
    this.#forwards.set(width, forward);
    return forward;
  }
}
