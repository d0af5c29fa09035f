/** Forward graphs over whole segments without a backward pass: prefill, scoring and a teacher's top k. */
import { binary, Tape } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import { buildDecoder, type DecoderBatch, type DecoderLayer, decoderFeeds } from './decoder.ts';
import type { Tensors } from './executor.ts';
import { dimAt, type Graph, type Shape, type Value } from './graph.ts';
import { cacheNames } from './key-value-cache.ts';
import {
  INFERENCE_EMBEDDING,
  INFERENCE_HEAD,
  inferenceName,
  type PublishedWeights,
} from './published.ts';

const ROWS = 'rows';

/** `prefill` outputs whole rows, keys and values; `score` one log-probability a row; `topK` the k largest. */
export type InferenceHead =
  | { readonly kind: 'prefill' }
  | { readonly kind: 'score' }
  | { readonly kind: 'topK'; readonly k: number };

/** A product with a single row takes another kernel, which rounds differently: there are always at least two. */
export function atLeastTwo(rows: Int32Array): Int32Array {
  return rows.length === 1 ? Int32Array.from([...rows, ...rows]) : rows;
}

/** Everything the graph is fed, except the targets of `score`. */
export function inferenceFeeds(
  config: LlamaConfig,
  batch: DecoderBatch,
  { tensors }: PublishedWeights,
): Tensors {
  const weights = Object.entries(tensors).filter(([name]) => !name.endsWith('attention'));
  const rows = atLeastTwo(batch.rows);
  return { ...Object.fromEntries(weights), ...decoderFeeds(config, { ...batch, rows }) };
}

/** Builds the graph that `inferenceFeeds` feeds. */
export function buildInferenceGraph(config: LlamaConfig, head: InferenceHead): Graph {
  const tape = new Tape();
  const { graph } = tape;
  const { hiddenSize, vocabularySize } = config;
  const { logits } = buildDecoder(tape, config, {
    embedding: graph.input(INFERENCE_EMBEDDING, [vocabularySize, hiddenSize]),
    head: graph.input(INFERENCE_HEAD, [vocabularySize, hiddenSize]),
    layer: layersOf(graph, config),
    gated: (gate, up) => gatedUnit(tape, gate, up),
    observe: (layer, found) => {
      if (head.kind === 'prefill') outputCache(graph, layer, found);
    },
  });
  const logprobs = graph.node(
    { op: 'LogSoftmax', inputs: [logits], attributes: { axis: -1 } },
    { shape: logits.shape },
  );
  finish(tape, head, logprobs);
  graph.prune();
  return graph;
}

/** silu(gate) · up in two passes; its gradient would need three. */
export function gatedUnit(tape: Tape, gate: Value, up: Value): Value {
  const silu = tape.graph.node(
    { op: 'QuickGelu', inputs: [gate], attributes: { alpha: 1 } },
    { shape: gate.shape },
  );
  return binary(tape, 'Mul', [silu, up]);
}

function layersOf(graph: Graph, config: LlamaConfig): (index: number) => DecoderLayer {
  const { hiddenSize, intermediateSize, heads, keyValueHeads, headDim } = config;
  const shapes: Readonly<Record<keyof DecoderLayer, Shape>> = {
    query: [heads * headDim, hiddenSize],
    key: [keyValueHeads * headDim, hiddenSize],
    value: [keyValueHeads * headDim, hiddenSize],
    output: [hiddenSize, heads * headDim],
    gate: [intermediateSize, hiddenSize],
    up: [intermediateSize, hiddenSize],
    down: [hiddenSize, intermediateSize],
  };
  const layers = Array.from({ length: config.layers }, (_, index): DecoderLayer => {
    const weight = (name: keyof DecoderLayer): Value =>
      graph.input(inferenceName(index, name), shapes[name]);
    return {
      query: weight('query'),
      key: weight('key'),
      value: weight('value'),
      output: weight('output'),
      gate: weight('gate'),
      up: weight('up'),
      down: weight('down'),
    };
  });
  return (index) => {
    const layer = layers[index];
    if (layer === undefined) throw new Error(`no layer ${index}`);
    return layer;
  };
}

interface KeysAndValues {
  readonly key: Value;
  readonly value: Value;
}

/** As the cache keeps them: keys transposed. */
function outputCache(graph: Graph, layer: number, { key, value }: KeysAndValues): void {
  const names = cacheNames(layer);
  const order = [0, 1, 3, 2];
  const turned = graph.node(
    { op: 'Transpose', inputs: [key], attributes: { perm: order } },
    { shape: order.map((axis) => dimAt(key, axis)) },
  );
  graph.output(names.newKeys, turned);
  graph.output(names.newValues, value);
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
