/** A policy as an ordinary Hugging Face directory, with optimiser and trainer state beside it; saved all or not at all. */
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../lib/user-error.ts';
import { readSafetensors, type Tensor, type TensorDtype, writeSafetensors } from './safetensors.ts';

export interface Checkpoint {
  /** `config.json` as it lies; `config.ts` gives it meaning. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** Tokenizer, chat template and generation settings: file name to text. */
  readonly language: ReadonlyMap<string, string>;
  /** Moments by parameter name and whatever else the optimiser keeps. */
  readonly optimiser?: ReadonlyMap<string, Tensor>;
  /** Small JSON of the trainer: update count, policy version, … */
  readonly trainer?: Readonly<Record<string, unknown>>;
}

const LANGUAGE_FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  'generation_config.json',
  'special_tokens_map.json',
  'chat_template.jinja',
] as const;
const DTYPE_NAMES: Readonly<Record<TensorDtype, string>> = {
  F32: 'float32',
  F16: 'float16',
  BF16: 'bfloat16',
};

const jsonObjectSchema = z.record(z.string(), z.unknown());
const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) });

/**
 * Atomic: everything is written to a sibling and flushed before it takes the directory's name. Killed at any point,
 * the directory is the old one or the new one, at the latest when it is next loaded or saved.
 */
export async function saveCheckpoint(
  directory: string,
  checkpoint: Checkpoint,
  dtype: TensorDtype = 'F32',
): Promise<void> {
  const target = resolve(directory);
  const { saving, previous } = siblings(target);
  await mkdir(dirname(target), { recursive: true });
  await recover(target);
  await rm(saving, { recursive: true, force: true });
  await mkdir(saving);
  const name = DTYPE_NAMES[dtype];
  // Transformers 5 reads `dtype`, older versions and other loaders `torch_dtype`.
  const config = { ...checkpoint.config, dtype: name, torch_dtype: name };
  const texts = new Map(checkpoint.language).set('config.json', json(config));
  if (checkpoint.trainer !== undefined) texts.set('trainer.json', json(checkpoint.trainer));
  for (const [name, text] of texts) {
    await writeFile(join(saving, name), text, { flush: true });
  }
  await writeSafetensors(join(saving, 'model.safetensors'), checkpoint.tensors, { dtype });
  if (checkpoint.optimiser !== undefined) {
    const file = join(saving, 'optimiser.safetensors');
    await writeSafetensors(file, checkpoint.optimiser, { dtype: 'F32' });
  }
  await flushDirectory(saving);
  if (existsSync(target)) await rename(target, previous);
  await rename(saving, target);
  await flushDirectory(dirname(target));
  await rm(previous, { recursive: true, force: true });
}

/** Rejects with one sentence that names the file at fault. */
export async function loadCheckpoint(directory: string): Promise<Checkpoint> {
  const target = resolve(directory);
  await recover(target);
  if (!existsSync(target)) throw new UserError(`there is no policy directory ${directory}`);
  const config = await readJson(join(target, 'config.json'), jsonObjectSchema);
  const language = new Map<string, string>();
  for (const name of LANGUAGE_FILES) {
    const file = join(target, name);
    if (existsSync(file)) language.set(name, await readFile(file, 'utf8'));
  }
  const tensors = await readWeights(target);
  const optimiserFile = join(target, 'optimiser.safetensors');
  const trainerFile = join(target, 'trainer.json');
  return {
    config,
    tensors,
    language,
    ...(existsSync(optimiserFile) && { optimiser: (await readSafetensors(optimiserFile)).tensors }),
    ...(existsSync(trainerFile) && { trainer: await readJson(trainerFile, jsonObjectSchema) }),
  };
}

/** One file, or the shards that an index names. */
async function readWeights(directory: string): Promise<ReadonlyMap<string, Tensor>> {
  const single = join(directory, 'model.safetensors');
  if (existsSync(single)) return (await readSafetensors(single)).tensors;
  const indexFile = join(directory, 'model.safetensors.index.json');
  if (!existsSync(indexFile)) {
    throw new UserError(
      `${directory} has no weights: neither model.safetensors nor an index of shards`,
    );
  }
  const { weight_map: weightMap } = await readJson(indexFile, indexSchema);
  const tensors = new Map<string, Tensor>();
  for (const shard of new Set(Object.values(weightMap))) {
    if (shard !== basename(shard))
      throw new UserError(`${indexFile} names a file elsewhere: ${shard}`);
    for (const [name, tensor] of (await readSafetensors(join(directory, shard))).tensors) {
      if (weightMap[name] === shard) tensors.set(name, tensor);
    }
  }
  const missing = Object.keys(weightMap).find((name) => !tensors.has(name));
  if (missing !== undefined) {
    throw new UserError(
      `${indexFile} promises ${missing} in ${weightMap[missing]}, which lacks it`,
    );
  }
  return tensors;
}

function siblings(target: string): { saving: string; previous: string } {
  return { saving: `${target}.saving`, previous: `${target}.previous` };
}

/** A save that was killed between its two renames left the old directory under its sibling's name. */
async function recover(target: string): Promise<void> {
  const { previous } = siblings(target);
  if (!existsSync(previous)) return;
  if (existsSync(target)) await rm(previous, { recursive: true, force: true });
  else await rename(previous, target);
}

async function flushDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, 'r');
  await handle.sync();
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  const text = await readFile(file, 'utf8');
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new UserError(`${file} is not what it should be`, { cause });
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
