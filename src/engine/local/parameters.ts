/** All weights in one flat array, seen through views with Hugging Face names: one array to update, copy, clip and save. */
import { createRng, type Rng } from '../../lib/rng.ts';
import type { LlamaConfig } from './config.ts';

export interface ParameterView {
  readonly name: string;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly length: number;
}

export interface Parameters {
  readonly views: readonly ParameterView[];
  readonly flat: Float32Array;
}

/** What the engine trains and saves; `optimiserState` is absent in a checkpoint that was never trained here. */
export interface LocalModel {
  readonly config: LlamaConfig;
  readonly parameters: Parameters;
  readonly optimiserState?: OptimiserState;
}

/** Adam's moments over the flat array and the number of updates made. */
export interface OptimiserState {
  readonly m: Float32Array;
  readonly v: Float32Array;
  readonly step: number;
}

export const EMBEDDING = 'model.embed_tokens.weight';
export const HEAD = 'lm_head.weight';
export const FINAL_NORM = 'model.norm.weight';

const INITIAL_DEVIATION = 0.02;

export function layerNames(layer: number) {
  const prefix = `model.layers.${layer}`;
  return {
    inputNorm: `${prefix}.input_layernorm.weight`,
    query: `${prefix}.self_attn.q_proj.weight`,
    key: `${prefix}.self_attn.k_proj.weight`,
    value: `${prefix}.self_attn.v_proj.weight`,
    output: `${prefix}.self_attn.o_proj.weight`,
    postNorm: `${prefix}.post_attention_layernorm.weight`,
    gate: `${prefix}.mlp.gate_proj.weight`,
    up: `${prefix}.mlp.up_proj.weight`,
    down: `${prefix}.mlp.down_proj.weight`,
  } as const;
}

/** Name and shape of every tensor, in the order of the flat array. */
export function parameterShapes(config: LlamaConfig): readonly (readonly [string, number[]])[] {
  const { hiddenSize, intermediateSize, headDim, heads, keyValueHeads, vocabularySize } = config;
  const layers = Array.from({ length: config.layers }, (_, layer): [string, number[]][] => {
    const names = layerNames(layer);
    return [
      [names.inputNorm, [hiddenSize]],
      [names.query, [heads * headDim, hiddenSize]],
      [names.key, [keyValueHeads * headDim, hiddenSize]],
      [names.value, [keyValueHeads * headDim, hiddenSize]],
      [names.output, [hiddenSize, heads * headDim]],
      [names.postNorm, [hiddenSize]],
      [names.gate, [intermediateSize, hiddenSize]],
      [names.up, [intermediateSize, hiddenSize]],
      [names.down, [hiddenSize, intermediateSize]],
    ];
  });
  const head: [string, number[]][] = config.tiedEmbeddings
    ? []
    : [[HEAD, [vocabularySize, hiddenSize]]];
  return [
    [EMBEDDING, [vocabularySize, hiddenSize]],
    ...layers.flat(),
    [FINAL_NORM, [hiddenSize]],
    ...head,
  ];
}

/** Zeroed weights. */
export function allocateParameters(config: LlamaConfig): Parameters {
  let offset = 0;
  const views = parameterShapes(config).map(([name, shape]): ParameterView => {
    const length = shape.reduce((total, dim) => total * dim, 1);
    const view = { name, shape, offset, length };
    offset += length;
    return view;
  });
  return { views, flat: new Float32Array(offset) };
}

/** Normal(0, 0.02) for matrices, scaled down where a residual branch ends (GPT-2's rule), 1 for norms. */
export function initialiseParameters(config: LlamaConfig, seed: string): Parameters {
  const parameters = allocateParameters(config);
  const rng = createRng(seed);
  const residual = 1 / Math.sqrt(2 * config.layers);
  for (const view of parameters.views) {
    const weights = viewOf(parameters, view.name);
    if (view.shape.length === 1) {
      weights.fill(1);
      continue;
    }
    const endsBranch =
      view.name.endsWith('o_proj.weight') || view.name.endsWith('down_proj.weight');
    const deviation = INITIAL_DEVIATION * (endsBranch ? residual : 1);
    const stream = rng.fork(view.name);
    for (let i = 0; i < weights.length; i++) weights[i] = deviation * normal(stream);
  }
  return parameters;
}

/** A writable window on one tensor. */
export function viewOf({ views, flat }: Parameters, name: string): Float32Array {
  const view = views.find((candidate) => candidate.name === name);
  if (view === undefined) throw new Error(`no tensor ${name}`);
  return flat.subarray(view.offset, view.offset + view.length);
}

/** Box-Muller. */
function normal(rng: Rng): number {
  return Math.sqrt(-2 * Math.log(1 - rng.next())) * Math.cos(2 * Math.PI * rng.next());
}
