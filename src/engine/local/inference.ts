/** Forward graphs without a backward pass: one body for prefill, decoding, scoring and a teacher's top k. */
import { binary, Tape, unary } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import type { Tensors } from './executor.ts';
import type { Graph, Shape, Value } from './graph.ts';
import { rotaryTables } from './llama.ts';
import { linear } from './ops.ts';
import { rmsNorm } from './ops-transformer.ts';
import {
  INFERENCE_EMBEDDING,
  INFERENCE_HEAD,
  inferenceNames,
  inferenceShapes,
} from './published.ts';

const BATCH = 'batch';
const LENGTH = 'length';
const ROWS = 'rows';
const TOKENS = 'tokens';
const CAPACITY = 'capacity';

/** `sample` outputs whole rows and keeps the key-value cache; `score` one log-probability a row; `topK` the k largest. */
export type InferenceHead =
  | { readonly kind: 'sample' }
  | { readonly kind: 'score' }
  | { readonly kind: 'topK'; readonly k: number };

export function cacheNames(layer: number) {
  return {
    pastKey: `past key ${layer}`,
    pastValue: `past value ${layer}`,
    presentKey: `present key ${layer}`,
    presentValue: `present value ${layer}`,
  } as const;
}

interface Build {
  readonly tape: Tape;
  readonly config: LlamaConfig;
  readonly cached: boolean;
  readonly shape: Value;
  readonly ends: Value;
  readonly total: Value;
  readonly rotation: { readonly cos: Value; readonly sin: Value };
  weight(name: string): Value;
}

/** One run: `ends.length` rows of `length` tokens each. */
export interface InferenceRun {
  readonly length: number;
  readonly tokens: Int32Array;
  /** Last position of each row, counted with its past. */
  readonly ends: readonly number[];
  /** Flat positions (row · length + t) whose logits are wanted. */
  readonly rows: ArrayLike<number>;
  /** `length` for a prompt from position 0; otherwise the longest row with its past. */
  readonly total: number;
}

/** A product with a single row takes another kernel, which rounds differently: there are always at least two. */
export function atLeastTwo(rows: ArrayLike<number>): Int32Array {
  const [only] = Array.from(rows);
  return rows.length === 1 && only !== undefined ? Int32Array.of(only, only) : Int32Array.from(rows);
}

export function inferenceFeeds({ length, tokens, ends, rows, total }: InferenceRun): Tensors {
  const chosen = atLeastTwo(rows);
  return {
    tokens: { dims: [tokens.length], data: tokens },
    shape: { dims: [3], data: BigInt64Array.of(BigInt(ends.length), BigInt(length), -1n) },
    ends: { dims: [ends.length], data: Int32Array.from(ends) },
    total: { dims: [1], data: Int32Array.of(total) },
    rows: { dims: [chosen.length], data: chosen },
  };
}

/**
 * Fed: `tokens` [batch · length], `shape` (batch, length, −1), `ends` (last position of each row), `total`
 * (length of the longest row with its past), `rows` (flat positions whose logits are wanted).
 */
export function buildInferenceGraph(config: LlamaConfig, head: InferenceHead): Graph {
  const tape = new Tape();
  const { graph } = tape;
  const weights = new Map(
    inferenceShapes(config).map(([name, shape]) => [name, graph.input(name, shape)]),
  );
  const weight = (name: string): Value => {
    const value = weights.get(name);
    if (value === undefined) throw new Error(`no weight ${name}`);
    return value;
  };
  const tables = rotaryTables(config);
  const tableShape: Shape = [config.contextLength, config.headDim / 2];
  const tokens = graph.input('tokens', [TOKENS], 'i32');
  const build: Build = {
    tape,
    config,
    weight,
    cached: head.kind === 'sample',
    shape: graph.input('shape', [3], 'i64'),
    ends: graph.input('ends', [BATCH], 'i32'),
    total: graph.input('total', [1], 'i32'),
    rotation: {
      cos: graph.table(tables.cos, tableShape),
      sin: graph.table(tables.sin, tableShape),
    },
  };
  let hidden = graph.node(
    { op: 'Gather', inputs: [weight(INFERENCE_EMBEDDING), tokens], attributes: { axis: 0 } },
    { shape: [TOKENS, config.hiddenSize] },
  );
  for (let layer = 0; layer < config.layers; layer++) hidden = block(build, hidden, layer);
  const rows = graph.input('rows', [ROWS], 'i32');
  const chosen = graph.node(
    { op: 'Gather', inputs: [hidden, rows], attributes: { axis: 0 } },
    { shape: [ROWS, config.hiddenSize] },
  );
  const logits = linear(tape, rmsNorm(tape, chosen, config.rmsNormEpsilon), {
    weight: weight(INFERENCE_HEAD),
  });
  const logprobs = graph.node(
    { op: 'LogSoftmax', inputs: [logits], attributes: { axis: -1 } },
    { shape: logits.shape },
  );
  finish(tape, head, logprobs);
  graph.prune();
  return graph;
}

function block(build: Build, hidden: Value, layer: number): Value {
  const { tape, config, weight } = build;
  const { graph } = tape;
  const names = inferenceNames(layer);
  const normed = rmsNorm(tape, hidden, config.rmsNormEpsilon);
  const attended = cachedAttention(
    build,
    linear(tape, normed, { weight: weight(names.attention) }),
    layer,
  );
  const middle = linear(tape, attended, { weight: weight(names.output), residual: hidden });
  const second = rmsNorm(tape, middle, config.rmsNormEpsilon);
  const gate = linear(tape, second, { weight: weight(names.gate) });
  const up = linear(tape, second, { weight: weight(names.up) });
  const silu = graph.node(
    { op: 'QuickGelu', inputs: [gate], attributes: { alpha: 1 } },
    { shape: gate.shape },
  );
  const inner = binary(tape, 'Mul', [silu, up]);
  return linear(tape, inner, { weight: weight(names.down), residual: middle });
}

/** Rotary positions, the cache and causal attention in one operation; each row attends to its own length only. */
function cachedAttention(build: Build, projected: Value, layer: number): Value {
  const { tape, config, cached, shape, ends, total, rotation } = build;
  const { graph } = tape;
  const { heads, keyValueHeads, headDim } = config;
  const cacheShape: Shape = [BATCH, keyValueHeads, CAPACITY, headDim];
  const names = cacheNames(layer);
  const batched = graph.node(
    { op: 'Reshape', inputs: [projected, shape] },
    { shape: [BATCH, LENGTH, (heads + 2 * keyValueHeads) * headDim] },
  );
  const past = cached
    ? [graph.input(names.pastKey, cacheShape), graph.input(names.pastValue, cacheShape)]
    : [undefined, undefined];
  const [attended, key, value] = graph.multi(
    {
      op: 'GroupQueryAttention',
      inputs: [batched, undefined, undefined, ...past, ends, total, rotation.cos, rotation.sin],
      attributes: {
        num_heads: heads,
        kv_num_heads: keyValueHeads,
        do_rotary: 1,
        rotary_interleaved: 0,
        scale: 1 / Math.sqrt(headDim),
      },
    },
    [{ shape: [BATCH, LENGTH, heads * headDim] }, { shape: cacheShape }, { shape: cacheShape }],
  );
  if (attended === undefined || key === undefined || value === undefined) {
    throw new Error('attention has three outputs');
  }
  if (cached) {
    graph.result(names.presentKey, key);
    graph.result(names.presentValue, value);
  }
  return graph.node(
    { op: 'Reshape', inputs: [attended, graph.integers([-1, heads * headDim])] },
    { shape: [TOKENS, heads * headDim] },
  );
}

function finish(tape: Tape, head: InferenceHead, logprobs: Value): void {
  const { graph } = tape;
  switch (head.kind) {
    case 'sample':
      graph.output('logprobs', logprobs);
      graph.output('probabilities', unary(tape, 'Exp', logprobs));
      return;
    case 'score': {
      const ids = graph.input('ids', [ROWS, 1], 'i32');
      const picked = graph.node(
        { op: 'GatherElements', inputs: [logprobs, ids], attributes: { axis: 1 } },
        { shape: [ROWS, 1] },
      );
      graph.output('logprobs', picked);
      return;
    }
    case 'topK': {
      const shape: Shape = [ROWS, head.k];
      const [values, indices] = graph.multi(
        {
          op: 'TopK',
          inputs: [logprobs, graph.integers([head.k])],
          attributes: { axis: -1, largest: 1, sorted: 1 },
        },
        [{ shape }, { shape, dtype: 'i64' }],
      );
      if (values === undefined || indices === undefined) throw new Error('TopK has two outputs');
      graph.output('logprobs', values);
      graph.output('ids', indices);
      return;
    }
    default:
      head satisfies never;
  }
}
