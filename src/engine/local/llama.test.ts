import { describe, expect, test } from 'vitest';
import type { Sample, TopK } from '../../core/policy.ts';
import { createRng } from '../../lib/rng.ts';
import type { LossOptions } from '../contract.ts';
import { Tape } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import { decoderFeeds } from './decoder.ts';
import { createOrtExecutor } from './execute-ort.ts';
import { createTypescriptExecutor } from './execute-typescript.ts';
import { type Executor, type FloatArray, floats, type Tensor, type Tensors } from './executor.ts';
import type { Graph } from './graph.ts';
import { buildLlama } from './llama.ts';
import { lossBatches } from './loss-feeds.ts';
import {
  buildLoss,
  buildLossGraph,
  EMBEDDED_GRADIENT,
  gradientName,
  type LossSpec,
} from './losses.ts';
import { EMBEDDING } from './parameters.ts';
import { LOSS, tinyModel } from './testing.ts';

const ids = (seed: string, length: number): number[] => {
  const rng = createRng(seed);
  return Array.from({ length }, () => rng.int(0, 12));
};

const opinion = (seed: string, k: number): TopK => {
  const rng = createRng(seed);
  const chosen = rng.shuffle(Array.from({ length: 13 }, (_, id) => id)).slice(0, k);
  return { ids: chosen, logprobs: chosen.map(() => Math.log((0.5 + rng.next()) / 13)) };
};

const SAMPLES: Readonly<Record<Sample['kind'], readonly Sample[]>> = {
  'cross-entropy': [
    { kind: 'cross-entropy', tokenIds: ids('a', 9), from: 2, weights_N: [1, 0, 2, 1, 1, 3, 1] },
    { kind: 'cross-entropy', tokenIds: ids('b', 4), from: 1, weights_N: [1, 1, 1] },
  ],
  'policy-gradient': [
    {
      kind: 'policy-gradient',
      tokenIds: ids('c', 9),
      from: 6,
      logprobs_N: [-2.5, -2, -3],
      advantage: 1.5,
      weight: 0.5,
    },
    {
      kind: 'policy-gradient',
      tokenIds: ids('d', 5),
      from: 3,
      logprobs_N: [-2.4, -2.6],
      advantage: -0.5,
      weight: 1,
    },
  ],
  distillation: [
    {
      kind: 'distillation',
      tokenIds: ids('e', 8),
      from: 4,
      teacher_N: [opinion('1', 4), undefined, opinion('2', 3), opinion('3', 4)],
    },
  ],
};

async function lossAndGradients(
  executor: Executor,
  config: LlamaConfig,
  { samples, loss }: { readonly samples: readonly Sample[]; readonly loss: LossOptions },
) {
  const limits = { maxTokens: 4096, contextLength: 64, vocabularySize: config.vocabularySize };
  const [batch] = lossBatches(samples, loss, limits);
  if (batch === undefined) throw new Error('there is nothing to train');
  const program = await executor.compile(buildLossGraph(config, batch.spec), { alone: false });
  const forward = await executor.compile(forwardOnly(config, batch.spec), { alone: false });
  const feeds = { ...decoderFeeds(config, batch), ...batch.feeds };
  const run = (weights: Tensors): Promise<Tensors> => program.run({ ...weights, ...feeds });
  const lossAt = async (weights: Tensors): Promise<number> =>
    Number(floats(await forward.run({ ...weights, ...feeds }), 'loss')[0]);
  return { run, lossAt, tokens: batch.tokens };
}

/** The loss without its gradients: differences need nothing else. */
function forwardOnly(config: LlamaConfig, spec: LossSpec): Graph {
  const tape = new Tape();
  tape.graph.output('loss', buildLoss(tape, spec, buildLlama(tape, config).logits));
  tape.graph.prune();
  return tape.graph;
}

function weightTensors(
  model: ReturnType<typeof tinyModel>,
  convert: (weights: Float32Array) => FloatArray,
): Record<string, Tensor> {
  return Object.fromEntries(
    model.parameters.views.map(({ name, shape, offset, length }) => [
      name,
      { dims: shape, data: convert(model.parameters.flat.subarray(offset, offset + length)) },
    ]),
  );
}

/** The whole gradient of a tensor: the embedding also collects that of the rows it was read at. */
function gradientOf(name: string, results: Tensors, tokens: Int32Array): Float64Array {
  const own = gradientName(name) in results ? floats(results, gradientName(name)) : undefined;
  if (name !== EMBEDDING) return Float64Array.from(own ?? []);
  const rows = floats(results, EMBEDDED_GRADIENT);
  const width = rows.length / tokens.length;
  const total = own === undefined ? new Float64Array(13 * width) : Float64Array.from(own);
  for (const [row, id] of tokens.entries()) {
    for (let i = 0; i < width; i++) {
      const place = id * width + i;
      total[place] = Number(total[place]) + Number(rows[row * width + i]);
    }
  }
  return total;
}

const KINDS = ['cross-entropy', 'policy-gradient', 'distillation'] as const;
const VARIANTS: readonly Partial<LlamaConfig>[] = [
  { keyValueHeads: 1, tiedEmbeddings: true },
  { keyValueHeads: 2, tiedEmbeddings: false },
];

describe.each(VARIANTS)('%o', (variant) => {
  test.each(KINDS)('gradients of %s equal central differences for every tensor', async (kind) => {
    const model = tinyModel(variant);
    const executor = createTypescriptExecutor({ precision: 'double' });
    const loss = { ...LOSS, entropyBonus: 0.1 };
    const { run, lossAt, tokens } = await lossAndGradients(executor, model.config, {
      samples: SAMPLES[kind],
      loss,
    });
    const weights = weightTensors(model, (values) => Float64Array.from(values));
    const analytic = await run(weights);
    const rng = createRng('direction');
    for (const { name } of model.parameters.views) {
      const kept = weights[name];
      if (kept === undefined) throw new Error(`no ${name}`);
      const direction = Float64Array.from({ length: kept.data.length }, () => rng.next() - 0.5);
      const moved = (step: number): Promise<number> => {
        const data = direction.map((slope, i) => Number(kept.data[i]) + step * slope);
        return lossAt({ ...weights, [name]: { ...kept, data } });
      };
      const numeric = ((await moved(2e-6)) - (await moved(-2e-6))) / 4e-6;
      const gradient = gradientOf(name, analytic, tokens);
      const exact = gradient.reduce((sum, g, i) => sum + g * Number(direction[i]), 0);
      expect(Math.abs(numeric - exact) / Math.max(1e-2, Math.abs(exact)), name).toBeLessThan(1e-6);
    }
  });

  test.each(KINDS)('native and TypeScript executors agree on %s', async (kind) => {
    const model = tinyModel(variant);
    const weights = weightTensors(model, (values) => values);
    const samples = { samples: SAMPLES[kind], loss: { ...LOSS, entropyBonus: 0.1 } };
    const [native, plain] = await Promise.all(
      [
        await createOrtExecutor({ threads: 1 }),
        createTypescriptExecutor({ precision: 'single' }),
      ].map(async (executor) => {
        const { run, tokens } = await lossAndGradients(executor, model.config, samples);
        return { results: await run(weights), tokens };
      }),
    );
    if (native === undefined || plain === undefined) throw new Error('two executors ran');
    expect(floats(native.results, 'loss')[0]).toBeCloseTo(
      Number(floats(plain.results, 'loss')[0]),
      5,
    );
    for (const { name } of model.parameters.views) {
      const a = gradientOf(name, native.results, native.tokens);
      const b = gradientOf(name, plain.results, plain.tokens);
      const scale = b.reduce((most, g) => Math.max(most, Math.abs(g)), 1e-3);
      const worst = a.reduce((most, g, i) => Math.max(most, Math.abs(g - Number(b[i]))), 0);
      expect(worst / scale, name).toBeLessThan(1e-4);
    }
  });
});
