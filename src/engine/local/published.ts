/** Weights as the inference graphs want them: scales folded in, copied once and never trained. */

import type { LlamaConfig } from './config.ts';
import type { DecoderLayer } from './decoder.ts';
import type { Tensor, Tensors } from './executor.ts';
import { EMBEDDING, FINAL_NORM, HEAD, type LocalModel, layerNames, viewOf } from './parameters.ts';

export interface PublishedWeights {
  readonly version: number;
  /** By the names below. */
  readonly tensors: Tensors;
}

export const INFERENCE_EMBEDDING = 'embedding';
export const INFERENCE_HEAD = 'head';

/** `attention` is query, key and value below each other: the same numbers, for products with few rows. */
export type InferenceWeight = keyof DecoderLayer | 'attention';

export function inferenceName(layer: number, weight: InferenceWeight): string {
  return `layer ${layer} ${weight}`;
}

export function publishWeights(
  { config, parameters }: LocalModel,
  version: number,
): PublishedWeights {
  const view = (name: string): Float32Array => viewOf(parameters, name);
  const { hiddenSize, vocabularySize } = config;
  const tensors: Record<string, Tensor> = {
    [INFERENCE_EMBEDDING]: { dims: [vocabularySize, hiddenSize], data: view(EMBEDDING).slice() },
    [INFERENCE_HEAD]: {
      dims: [vocabularySize, hiddenSize],
      data: folded(view(config.tiedEmbeddings ? EMBEDDING : HEAD), view(FINAL_NORM)),
    },
  };
  for (let layer = 0; layer < config.layers; layer++) {
    for (const [weight, tensor] of publishLayer(config, layer, view)) {
      tensors[inferenceName(layer, weight)] = tensor;
    }
  }
  return { version, tensors };
}

function publishLayer(
  { hiddenSize, intermediateSize, heads, keyValueHeads, headDim }: LlamaConfig,
  layer: number,
  view: (name: string) => Float32Array,
): [InferenceWeight, Tensor][] {
  const names = layerNames(layer);
  const input = view(names.inputNorm);
  const post = view(names.postNorm);
  const projections = [names.query, names.key, names.value].map((name) =>
    folded(view(name), input),
  );
  const joined = concatenate(projections);
  const [queries, keys] = [heads * headDim, keyValueHeads * headDim];
  const rows = (start: number, count: number): Tensor => ({
    dims: [count, hiddenSize],
    data: joined.subarray(start * hiddenSize, (start + count) * hiddenSize),
  });
  return [
    ['attention', rows(0, queries + 2 * keys)],
    ['query', rows(0, queries)],
    ['key', rows(queries, keys)],
    ['value', rows(queries + keys, keys)],
    ['output', { dims: [hiddenSize, queries], data: view(names.output).slice() }],
    ['gate', { dims: [intermediateSize, hiddenSize], data: folded(view(names.gate), post) }],
    ['up', { dims: [intermediateSize, hiddenSize], data: folded(view(names.up), post) }],
    ['down', { dims: [hiddenSize, intermediateSize], data: view(names.down).slice() }],
  ];
}

/** Each column of weight[m,k] times scale[k]. */
function folded(weight: Float32Array, scale: Float32Array): Float32Array {
  return weight.map((value, index) => value * (scale[index % scale.length] as number));
}

function concatenate(parts: readonly Float32Array[]): Float32Array {
  const joined = new Float32Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}
