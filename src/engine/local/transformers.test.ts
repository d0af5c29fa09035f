/** Logits and gradients against what transformers computed on the same directories (test/vectors/make-llama-vectors.py). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { CrossEntropySample } from '../../core/policy.ts';
import { Tape } from './autodiff.ts';
import { packSegments } from './batches.ts';
import { decoderFeeds } from './decoder.ts';
import { createOrtExecutor } from './execute-ort.ts';
import { createTypescriptExecutor } from './execute-typescript.ts';
import { type Executor, floats } from './executor.ts';
import { buildLlama } from './llama.ts';
import { viewOf } from './parameters.ts';
import { loadPolicy } from './policy-directory.ts';
import { readSafetensors } from './safetensors.ts';
import { parameterTensors, Trainer } from './trainer.ts';

const RELATIVE = 1e-5;
const CASES = ['llama-tied-grouped', 'llama-untied-multihead', 'llama-untied-multiquery'];
const EXECUTORS: Record<string, () => Promise<Executor>> = {
  onnxruntime: () => createOrtExecutor({ threads: 1 }),
  typescript: async () => createTypescriptExecutor({ precision: 'single' }),
};
const caseSchema = z.strictObject({
  sequences: z.array(z.array(z.int())),
  weights: z.array(z.array(z.number())),
  loss: z.number(),
});

async function loadCase(name: string) {
  const directory = join('test/vectors', name);
  const { model } = await loadPolicy(directory);
  const { tensors } = await readSafetensors(join(directory, 'reference.safetensors'));
  const recorded = caseSchema.parse(
    JSON.parse(await readFile(join(directory, 'case.json'), 'utf8')),
  );
  const reference = (key: string): Float32Array => {
    const tensor = tensors.get(key);
    if (tensor === undefined) throw new Error(`${name} records no ${key}`);
    return tensor.data;
  };
  return { model, reference, ...recorded };
}

/** Largest difference over the largest magnitude: a relative error that small entries cannot blow up. */
function relativeError(actual: ArrayLike<number>, expected: Float32Array): number {
  expect(actual).toHaveLength(expected.length);
  const scale = expected.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  return expected.reduce(
    (max, value, i) => Math.max(max, Math.abs(value - (actual[i] ?? Number.NaN)) / scale),
    0,
  );
}

describe.each(CASES)('%s', (name) => {
  test.each(Object.keys(EXECUTORS))('%s computes its logits', async (executorName) => {
    const { model, reference, sequences } = await loadCase(name);
    const tape = new Tape();
    tape.graph.output('logits', buildLlama(tape, model.config).logits);
    await using program = await (await EXECUTORS[executorName]?.())?.compile(tape.graph, {
      alone: false,
    });
    const { contextLength, vocabularySize } = model.config;
    for (const [i, tokenIds] of sequences.entries()) {
      // A trailing token, since a batch leaves out the last one, which is predicted but never read.
      const segments = [{ tokenIds: [...tokenIds, 0], from: 1 }];
      const [batch] = packSegments(segments, { maxTokens: 64, contextLength, vocabularySize });
      if (batch === undefined || program === undefined) throw new Error('nothing to run');
      const feeds = { ...parameterTensors(model.parameters), ...decoderFeeds(model.config, batch) };
      const logits = floats(await program.run(feeds), 'logits');
      expect(relativeError(logits, reference(`logits.${i}`))).toBeLessThan(RELATIVE);
    }
  });

  test.each(Object.keys(EXECUTORS))(
    '%s computes its loss and every gradient',
    async (executorName) => {
      const { model, reference, sequences, weights, loss } = await loadCase(name);
      const executor = EXECUTORS[executorName];
      if (executor === undefined) throw new Error('no executor');
      await using trainer = new Trainer(model, { executor });
      const samples = sequences.map((tokenIds, i): CrossEntropySample => {
        return { kind: 'cross-entropy', tokenIds, from: 1, weights_N: weights[i] ?? [] };
      });
      // With beta1 = 0 and no clipping Adam's first moment is the gradient itself.
      const report = await trainer.step(
        samples,
        { clipLow: 0.2, clipHigh: 0.2, klArm: 'tail', entropyBonus: 0 },
        { learningRate: 0, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, maxGradNorm: Infinity },
      );
      const totalWeight = weights.flat().reduce((sum, weight) => sum + weight, 0);
      expect(Math.abs((report.loss * totalWeight) / loss - 1)).toBeLessThan(RELATIVE);
      const flat = trainer.optimiserState?.m;
      if (flat === undefined) throw new Error('the step made no update');
      const gradients = { ...model.parameters, flat };
      for (const view of model.parameters.views) {
        const actual = viewOf(gradients, view.name).map((value) => value * totalWeight);
        const error = relativeError(actual, reference(`gradient.${view.name}`));
        expect(error, view.name).toBeLessThan(RELATIVE);
      }
    },
  );
});
