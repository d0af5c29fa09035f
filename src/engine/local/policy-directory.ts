/** Between a policy directory and the model in memory: every tensor found, none too many, shapes as the configuration says. */

import { join } from 'node:path';
import { UserError } from '../../lib/user-error.ts';
import { type Checkpoint, loadCheckpoint, saveCheckpoint } from './checkpoint.ts';
import { parseLlamaConfig, toLlamaConfigJson } from './config.ts';
import {
  allocateParameters,
  HEAD,
  type LocalModel,
  type OptimiserState,
  type Parameters,
  viewOf,
} from './parameters.ts';
import type { Tensor, TensorDtype } from './safetensors.ts';

/** A model together with what else its directory says: kept so that a save loses nothing. */
export interface LocalPolicy {
  readonly model: LocalModel;
  /** `config.json` as loaded; our own fields win on save. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Tokenizer, chat template, generation settings: file name to text. */
  readonly language: ReadonlyMap<string, string>;
  readonly trainer?: Readonly<Record<string, unknown>>;
}

/** Buffers that old checkpoints carry and that follow from the configuration. */
const DERIVED = /rotary_emb\.inv_freq$/;

export async function loadPolicy(directory: string): Promise<LocalPolicy> {
  const { config, tensors, language, optimiser, trainer } = await loadCheckpoint(directory);
  const llama = parseLlamaConfig(config, join(directory, 'config.json'));
  const parameters = allocateParameters(llama);
  fillParameters(parameters, tensors, directory);
  const optimiserState =
    optimiser === undefined ? undefined : readOptimiser(parameters, optimiser, directory);
  return {
    model: { config: llama, parameters, ...(optimiserState && { optimiserState }) },
    config,
    language,
    ...(trainer && { trainer }),
  };
}

/** Half precision is for shipping: optimiser state is left out then, since training must resume exactly or not at all. */
export async function savePolicy(
  directory: string,
  { model, config, language, trainer }: LocalPolicy,
  dtype: TensorDtype = 'F32',
): Promise<void> {
  const { parameters, optimiserState } = model;
  const checkpoint: Checkpoint = {
    config: { ...config, ...toLlamaConfigJson(model.config) },
    tensors: tensorsOf(parameters, parameters.flat),
    language,
    ...(optimiserState &&
      dtype === 'F32' && { optimiser: writeOptimiser(parameters, optimiserState) }),
    ...(trainer && { trainer }),
  };
  await saveCheckpoint(directory, checkpoint, dtype);
}

function fillParameters(
  parameters: Parameters,
  tensors: ReadonlyMap<string, Tensor>,
  directory: string,
): void {
  const tied = !parameters.views.some(({ name }) => name === HEAD);
  for (const { name, shape } of parameters.views) {
    const tensor = tensors.get(name);
    if (tensor === undefined) throw new UserError(`${directory} has no tensor ${name}`);
    if (tensor.shape.join() !== shape.join()) {
      throw new UserError(
        `${directory}: tensor ${name} has shape [${tensor.shape}], its configuration says [${shape}]`,
      );
    }
    viewOf(parameters, name).set(tensor.data);
  }
  const known = new Set(parameters.views.map(({ name }) => name));
  const extra = [...tensors.keys()].find(
    (name) => !known.has(name) && !DERIVED.test(name) && !(tied && name === HEAD),
  );
  if (extra !== undefined)
    throw new UserError(`${directory} has a tensor that is not Llama's: ${extra}`);
}

function tensorsOf(parameters: Parameters, flat: Float32Array, prefix = ''): Map<string, Tensor> {
  return new Map(
    parameters.views.map(({ name, shape, offset, length }) => [
      prefix + name,
      { shape, data: flat.subarray(offset, offset + length) },
    ]),
  );
}

function writeOptimiser(
  parameters: Parameters,
  { m, v, step }: OptimiserState,
): Map<string, Tensor> {
  return new Map([
    ...tensorsOf(parameters, m, 'm.'),
    ...tensorsOf(parameters, v, 'v.'),
    ['step', { shape: [1], data: Float32Array.of(step) }],
  ]);
}

function readOptimiser(
  parameters: Parameters,
  tensors: ReadonlyMap<string, Tensor>,
  directory: string,
): OptimiserState {
  const flat = (prefix: string): Float32Array => {
    const values = new Float32Array(parameters.flat.length);
    for (const { name, offset, length } of parameters.views) {
      const tensor = tensors.get(prefix + name);
      if (tensor?.data.length !== length) {
        throw new UserError(
          `${directory}: optimiser state of ${name} is missing or of another size`,
        );
      }
      values.set(tensor.data, offset);
    }
    return values;
  };
  const step = tensors.get('step')?.data[0];
  if (step === undefined) throw new UserError(`${directory}: optimiser state has no step`);
  return { m: flat('m.'), v: flat('v.'), step };
}
