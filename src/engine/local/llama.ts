/** The decoder as it is trained: fed with the tensors of a Hugging Face directory, norms folded into the weights that follow. */
import type { Tape } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import { buildDecoder, type Decoder } from './decoder.ts';
import type { Value } from './graph.ts';
import { multiply } from './ops.ts';
import { swiglu } from './ops-transformer.ts';
import { EMBEDDING, FINAL_NORM, HEAD, layerNames, parameterShapes } from './parameters.ts';

export interface LlamaForward extends Decoder {
  readonly weights: ReadonlyMap<string, Value>;
}

export function buildLlama(tape: Tape, config: LlamaConfig): LlamaForward {
  const weights = new Map(
    parameterShapes(config).map(([name, shape]) => [name, tape.graph.input(name, shape)]),
  );
  const weight = (name: string): Value => {
    const value = weights.get(name);
    if (value === undefined) throw new Error(`no tensor ${name}`);
    return value;
  };
  const folded = (name: string, norm: string): Value => multiply(tape, weight(name), weight(norm));
  const layers = Array.from({ length: config.layers }, (_, index) => {
    const names = layerNames(index);
    return {
      query: folded(names.query, names.inputNorm),
      key: folded(names.key, names.inputNorm),
      value: folded(names.value, names.inputNorm),
      output: weight(names.output),
      gate: folded(names.gate, names.postNorm),
      up: folded(names.up, names.postNorm),
      down: weight(names.down),
    };
  });
  const decoder = buildDecoder(tape, config, {
    embedding: weight(EMBEDDING),
    head: folded(config.tiedEmbeddings ? EMBEDDING : HEAD, FINAL_NORM),
    layer: (index) => {
      const layer = layers[index];
      if (layer === undefined) throw new Error(`no layer ${index}`);
      return layer;
    },
    gated: (gate, up) => swiglu(tape, gate, up),
  });
  return { ...decoder, weights };
}
