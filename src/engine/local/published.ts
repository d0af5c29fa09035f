/** Weights as the inference graphs want them: scales folded, projections joined, copied once and never trained. */
import type { LlamaConfig } from './config.ts';
import type { Tensor, Tensors } from './executor.ts';
import { EMBEDDING, FINAL_NORM, HEAD, type LocalModel, layerNames, viewOf } from './parameters.ts';

export interface PublishedWeights {
  readonly version: number;
  /** Fed to every run. */
  readonly tensors: Tensors;
}

export function inferenceNames(layer: number) {
  return {
    attention: `layer ${layer} query key value`,
    output: `layer ${layer} output`,
    gate: `layer ${layer} gate`,
    up: `layer ${layer} up`,
    down: `layer ${layer} down`,
  } as const;
}

export const INFERENCE_EMBEDDING = 'embedding';
export const INFERENCE_HEAD = 'head';

/** Shape of every fed weight. */
export function inferenceShapes(config: LlamaConfig): readonly (readonly [string, number[]])[] {
  const { hiddenSize, intermediateSize, headDim, heads, keyValueHeads, vocabularySize } = config;
  const layers = Array.from({ length: config.layers }, (_, layer): [string, number[]][] => {
    const names = inferenceNames(layer);
    return [
      [names.attention, [(heads + 2 * keyValueHeads) * headDim, hiddenSize]],
      [names.output, [hiddenSize, heads * headDim]],
      [names.gate, [intermediateSize, hiddenSize]],
      [names.up, [intermediateSize, hiddenSize]],
      [names.down, [hiddenSize, intermediateSize]],
    ];
  });
  return [
    [INFERENCE_EMBEDDING, [vocabularySize, hiddenSize]],
    ...layers.flat(),
    [INFERENCE_HEAD, [vocabularySize, hiddenSize]],
  ];
}

export function publishWeights(
  { config, parameters }: LocalModel,
  version: number,
): PublishedWeights {
  const view = (name: string): Float32Array => viewOf(parameters, name);
  const arrays = new Map<string, Float32Array>();
  for (let layer = 0; layer < config.layers; layer++) {
    const from = layerNames(layer);
    const to = inferenceNames(layer);
    const input = view(from.inputNorm);
    const post = view(from.postNorm);
    const joined = [from.query, from.key, from.value].map((name) => folded(view(name), input));
    arrays.set(to.attention, concatenate(joined));
    arrays.set(to.output, view(from.output).slice());
    arrays.set(to.gate, folded(view(from.gate), post));
    arrays.set(to.up, folded(view(from.up), post));
    arrays.set(to.down, view(from.down).slice());
  }
  const head = view(config.tiedEmbeddings ? EMBEDDING : HEAD);
  arrays.set(INFERENCE_EMBEDDING, view(EMBEDDING).slice());
  arrays.set(INFERENCE_HEAD, folded(head, view(FINAL_NORM)));
  const tensors = Object.fromEntries(
    inferenceShapes(config).map(([name, dims]): [string, Tensor] => {
      const data = arrays.get(name);
      if (data === undefined) throw new Error(`no weights for ${name}`);
      return [name, { dims, data }];
    }),
  );
  return { version, tensors };
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
