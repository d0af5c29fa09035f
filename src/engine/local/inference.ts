/** Forward graphs over whole segments without a backward pass: prefill, scoring and a teacher's top k. */
import { binary, Tape } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import type { Tensors } from './executor.ts';
import type { Graph, Shape, Value } from './graph.ts';
import { cacheNames } from './key-value-cache.ts';
import { rotaryLength, rotaryTables } from './llama.ts';
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

/** `prefill` outputs whole rows, keys and values; `score` one log-probability a row; `topK` the k largest. */
export type InferenceHead =
  | { readonly kind: 'prefill' }
  | { readonly kind: 'score' }
  | { readonly kind: 'topK'; readonly k: number };

interface Build {
  readonly tape: Tape;
  readonly config: LlamaConfig;
  readonly outputsCache: boolean;
  readonly shape: Value;
  readonly ends: Value;
  readonly total: Value;
  readonly rotation: { readonly cos: Value; readonly sin: Value };
  weight(name: string): Value;
}

/** One run over right-padded segments: `lengths.length` rows of `length` tokens each. */
export interface InferenceRun {
  readonly length: number;
  readonly tokens: Int32Array;
  /** Real tokens of each row. */
  readonly lengths: readonly number[];
  /** Flat positions (row · length + t) whose logits are wanted. */
  readonly rows: ArrayLike<number>;
}

/** A product with a single row takes another kernel, which rounds differently: there are always at least two. */
export function atLeastTwo(rows: ArrayLike<number>): Int32Array {
  const [only] = Array.from(rows);
  return rows.length === 1 && only !== undefined
    ? Int32Array.of(only, only)
    : Int32Array.from(rows);
}

export function inferenceFeeds({ length, tokens, lengths, rows }: InferenceRun): Tensors {
  const chosen = atLeastTwo(rows);
  return {
    tokens: { dims: [tokens.length], data: tokens },
    shape: { dims: [3], data: BigInt64Array.of(BigInt(lengths.length), BigInt(length), -1n) },
    ends: { dims: [lengths.length], data: Int32Array.from(lengths, (count) => count - 1) },
    total: { dims: [1], data: Int32Array.of(length) },
    rows: { dims: [chosen.length], data: chosen },
  };
}

/** Builds the graph that `inferenceFeeds` feeds. */
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
  const tableShape: Shape = [rotaryLength(config), config.headDim / 2];
  const tokens = graph.input('tokens', [TOKENS], 'i32');
  const build: Build = {
    tape,
    config,
    weight,
    outputsCache: head.kind === 'prefill',
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
  const names = inferenceNames(layer);
  const normed = rmsNorm(tape, hidden, config.rmsNormEpsilon);
  const projected = linear(tape, normed, { weight: weight(names.attention) });
  const attended = promptAttention(build, projected, layer);
  const middle = linear(tape, attended, { weight: weight(names.output), residual: hidden });
  return feedForward(build, middle, layer);
}

/** The second half of a block, with its residual. */
export function feedForward(
  { tape, config, weight }: Pick<Build, 'tape' | 'config' | 'weight'>,
  hidden: Value,
  layer: number,
): Value {
  const names = inferenceNames(layer);
  const normed = rmsNorm(tape, hidden, config.rmsNormEpsilon);
  const gate = linear(tape, normed, { weight: weight(names.gate) });
  const up = linear(tape, normed, { weight: weight(names.up) });
  const silu = tape.graph.node(
    { op: 'QuickGelu', inputs: [gate], attributes: { alpha: 1 } },
    { shape: gate.shape },
  );
  const inner = binary(tape, 'Mul', [silu, up]);
  return linear(tape, inner, { weight: weight(names.down), residual: hidden });
}

/** Rotary positions from 0 and causal attention in one operation; each row attends to its own length only. */
function promptAttention(build: Build, projected: Value, layer: number): Value {
  const { tape, config, shape, ends, total, rotation } = build;
  const { graph } = tape;
  const { heads, keyValueHeads, headDim } = config;
  const batched = graph.node(
    { op: 'Reshape', inputs: [projected, shape] },
    { shape: [BATCH, LENGTH, (heads + 2 * keyValueHeads) * headDim] },
  );
  const cacheShape: Shape = [BATCH, keyValueHeads, LENGTH, headDim];
  const apart = [undefined, undefined, undefined, undefined];
  const [attended, key, value] = graph.multi(
    {
      op: 'GroupQueryAttention',
      inputs: [batched, ...apart, ends, total, rotation.cos, rotation.sin],
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
  if (build.outputsCache) {
    const names = cacheNames(layer);
    const turned = graph.node(
      { op: 'Transpose', inputs: [key], attributes: { perm: [0, 1, 3, 2] } },
      { shape: [BATCH, keyValueHeads, headDim, LENGTH] },
    );
    graph.output(names.newKeys, turned);
    graph.output(names.newValues, value);
  }
  return graph.node(
    { op: 'Reshape', inputs: [attended, graph.integers([-1, heads * headDim])] },
    { shape: [TOKENS, heads * headDim] },
  );
}

function finish(tape: Tape, head: InferenceHead, logprobs: Value): void {
  const { graph } = tape;
  switch (head.kind) {
    case 'prefill':
      graph.output('logprobs', logprobs);
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
