import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { initialOptimiserState } from './adam.ts';
import { loadCheckpoint, saveCheckpoint } from './checkpoint.ts';
import { parseLlamaConfig } from './config.ts';
import { initialiseParameters } from './parameters.ts';
import { loadPolicy, savePolicy } from './policy-directory.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-policy-'));
});
afterEach(() => rm(root, { recursive: true }));

const CONFIG = parseLlamaConfig({
  model_type: 'llama',
  hidden_size: 8,
  intermediate_size: 12,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 16,
  vocab_size: 10,
  max_position_embeddings: 16,
  rms_norm_eps: 1e-5,
  tie_word_embeddings: true,
});

test('weights, moments, language and foreign fields of the configuration come back', async () => {
  const parameters = initialiseParameters(CONFIG, 'seed');
  const optimiserState = { ...initialOptimiserState(parameters.flat.length), step: 7 };
  optimiserState.v.fill(1e-12);
  const language = new Map([['tokenizer.json', '{}']]);
  const model = { config: CONFIG, parameters, optimiserState };
  await savePolicy(join(root, 'p'), {
    model,
    language,
    config: { eos_token_id: 1 },
    trainer: { update: 3 },
  });
  const back = await loadPolicy(join(root, 'p'));
  expect(back.model).toEqual(model);
  expect(back.language).toEqual(language);
  expect(back.config).toMatchObject({ eos_token_id: 1 });
  expect(back.trainer).toEqual({ update: 3 });
});

test('a published directory loads; half precision keeps weights to 11 bits and drops the moments', async () => {
  const { model, ...rest } = await loadPolicy('test/vectors/llama-tied-grouped');
  const optimiserState = initialOptimiserState(model.parameters.flat.length);
  await savePolicy(join(root, 'p'), { ...rest, model: { ...model, optimiserState } }, 'F16');
  const half = await loadPolicy(join(root, 'p'));
  expect(half.model.optimiserState).toBeUndefined();
  expect(half.config).toMatchObject({ dtype: 'float16', torch_dtype: 'float16' });
  const worst = half.model.parameters.flat.reduce(
    (max, value, i) => Math.max(max, Math.abs(value - (model.parameters.flat[i] ?? Number.NaN))),
    0,
  );
  expect(worst).toBeGreaterThan(0);
  expect(worst).toBeLessThan(2 ** -10);
});

test('a missing, a foreign and a misshapen tensor are named', async () => {
  const good = await loadCheckpoint('test/vectors/llama-untied-multihead');
  const save = (
    change: (tensors: Map<string, { shape: readonly number[]; data: Float32Array }>) => void,
  ) => {
    const tensors = new Map(good.tensors);
    change(tensors);
    return saveCheckpoint(join(root, 'p'), { ...good, tensors });
  };
  await save((tensors) => tensors.delete('lm_head.weight'));
  await expect(loadPolicy(join(root, 'p'))).rejects.toThrow(/no tensor lm_head\.weight/);
  await save((tensors) => tensors.set('model.bias', { shape: [1], data: Float32Array.of(1) }));
  await expect(loadPolicy(join(root, 'p'))).rejects.toThrow(/not Llama's: model\.bias/);
  await save((tensors) =>
    tensors.set('model.norm.weight', { shape: [1], data: Float32Array.of(1) }),
  );
  await expect(loadPolicy(join(root, 'p'))).rejects.toThrow(
    /model\.norm\.weight has shape \[1\].*\[32\]/,
  );
});
