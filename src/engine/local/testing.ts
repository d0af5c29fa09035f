/** Small models and gradient checks for the tests of this folder. */
import { createRng } from '../../lib/rng.ts';
import type { LossOptions, OptimiserOptions } from '../contract.ts';
import { Tape } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import { createTypescriptExecutor } from './execute-typescript.ts';
import { floats, type Tensor, type Tensors } from './executor.ts';
import type { Value } from './graph.ts';
import { dot, reshape } from './ops.ts';
import { initialiseParameters, type LocalModel } from './parameters.ts';
import type { LocalPolicy } from './policy-directory.ts';

export const TINY: LlamaConfig = {
  hiddenSize: 16,
  intermediateSize: 24,
  layers: 2,
  heads: 2,
  keyValueHeads: 1,
  headDim: 16,
  vocabularySize: 13,
  contextLength: 64,
  rmsNormEpsilon: 1e-5,
  ropeTheta: 10_000,
  tiedEmbeddings: true,
};

export const LOSS: LossOptions = {
  clipLow: 0.2,
  clipHigh: 0.2,
  klArm: 'tail',
  entropyBonus: 0,
};

export const ADAM: OptimiserOptions = {
  learningRate: 0.01,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
};

/** Weights larger than a fresh model's, so that its distributions are far from uniform. */
export function tinyModel(changes: Partial<LlamaConfig> = {}, scale = 5): LocalModel {
  const config = { ...TINY, ...changes };
  const parameters = initialiseParameters(config, 'tiny');
  for (const [index, weight] of parameters.flat.entries()) parameters.flat[index] = weight * scale;
  return { config, parameters };
}

export function tinyPolicy(changes: Partial<LlamaConfig> = {}, scale = 5): LocalPolicy {
  return { model: tinyModel(changes, scale), config: {}, language: new Map() };
}

/** Seeded values in [low, high), in double precision. */
export function randomTensor(seed: string, dims: readonly number[], range = [-1, 1]): Tensor {
  const rng = createRng(seed);
  const [low = -1, high = 1] = range;
  const length = dims.reduce((total, dim) => total * dim, 1);
  const data = Float64Array.from({ length }, () => low + (high - low) * rng.next());
  return { dims, data };
}

/**
 * Largest relative difference between the gradients of Σ c·f(inputs), c random, and central differences,
 * over every coordinate of every input, in double precision.
 */
export async function gradientError(
  inputs: Readonly<Record<string, Tensor>>,
  build: (tape: Tape, values: Readonly<Record<string, Value>>) => Value,
  extra: Tensors = {},
): Promise<number> {
  const tape = new Tape();
  const values = Object.fromEntries(
    Object.entries(inputs).map(([name, { dims }]) => [name, tape.graph.input(name, dims)]),
  );
  const output = build(tape, values);
  const size = output.shape.reduce<number>((total, dim) => total * Number(dim), 1);
  const weights = tape.graph.input('c', [size]);
  const loss = dot(tape, reshape(tape, output, { shape: [size] }), weights);
  const gradients = tape.backward(loss);
  tape.graph.output('loss', loss);
  for (const [name, value] of Object.entries(values)) {
    const gradient = gradients.get(value);
    if (gradient === undefined) throw new Error(`no gradient for ${name}`);
    tape.graph.output(`gradient ${name}`, gradient);
  }
  const program = await createTypescriptExecutor({ precision: 'double' }).compile(tape.graph, {
    alone: false,
  });
  const feeds = { ...inputs, ...extra, c: randomTensor('c', [size]) };
  const analytic = await program.run(feeds);
  const lossAt = async (): Promise<number> => Number(floats(await program.run(feeds), 'loss')[0]);
  let worst = 0;
  for (const [name, { data }] of Object.entries(inputs)) {
    const gradient = floats(analytic, `gradient ${name}`);
    for (let i = 0; i < data.length; i++) {
      const numeric = await centralDifference(data, i, lossAt);
      const exact = Number(gradient[i]);
      worst = Math.max(worst, Math.abs(numeric - exact) / Math.max(1, Math.abs(numeric)));
    }
  }
  return worst;
}

async function centralDifference(
  data: Tensor['data'],
  index: number,
  lossAt: () => Promise<number>,
): Promise<number> {
  if (!(data instanceof Float64Array)) throw new Error('differences need double precision');
  const step = 1e-5;
  const kept = Number(data[index]);
  data[index] = kept + step;
  const above = await lossAt();
  data[index] = kept - step;
  const below = await lossAt();
  data[index] = kept;
  return (above - below) / (2 * step);
}
