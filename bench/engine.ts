/** The local engine against PyTorch on the same model, in turns: training, sampling with log-probabilities, share of the matmul peak. */
import { spawn } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import type { CrossEntropySample } from '../src/core/policy.ts';
import type { LlamaConfig } from '../src/engine/local/config.ts';
import { createLocalEngine } from '../src/engine/local/engine.ts';
import { createOrtExecutor } from '../src/engine/local/execute-ort.ts';
import { Graph } from '../src/engine/local/graph.ts';
import { initialiseParameters } from '../src/engine/local/parameters.ts';
import { createRng } from '../src/lib/rng.ts';

const CONFIG: LlamaConfig = {
  hiddenSize: 128,
  intermediateSize: 384,
  layers: 4,
  heads: 4,
  keyValueHeads: 4,
  headDim: 32,
  vocabularySize: 1024,
  contextLength: 512,
  rmsNormEpsilon: 1e-5,
  ropeTheta: 10_000,
  tiedEmbeddings: true,
};
const BATCH = 8;
const LENGTH = 256;
const PROMPT = 8;
const ANSWER = 128;
const ROUNDS = 9;
const STEPS_PER_ROUND = 3;

interface Contender {
  train(): Promise<unknown>;
  sample(): Promise<unknown>;
}

/** PyTorch is measured where `BENCH_PYTHON` names an interpreter that has it. */
export async function benchEngine(): Promise<Record<string, unknown>> {
  const threads = Math.min(2, availableParallelism());
  const ours = createOurs(threads);
  const python = process.env['BENCH_PYTHON'];
  const torch = python === undefined ? undefined : await startTorch(python, threads);
  const contenders = { memwriter: ours, ...(torch && { torch }) };
  const times = await inTurns(contenders);
  const perSecond = (tokens: number, ms: readonly number[] | undefined): number | undefined =>
    ms && Math.round((tokens / median(ms)) * 1000);
  const figures = Object.keys(contenders).map((name) => [
    name,
    {
      trainTokensPerSecond: perSecond(BATCH * LENGTH, times[name]?.train),
      sampleTokensPerSecond: perSecond(BATCH * ANSWER, times[name]?.sample),
    },
  ]);
  const peak = await matmulGflops(threads);
  const trainMs = median(times['memwriter']?.train ?? []);
  torch?.process.stdin.end();
  return {
    threads,
    // PyTorch's threads poll for each other and collapse beside other work: above about 2 the ratios mean nothing.
    loadAverage: Number(loadavg()[0]?.toFixed(1)),
    parameters: ours.parameters,
    torch: torch?.version,
    ...Object.fromEntries(figures),
    trainRatio: ratio(times, 'train'),
    sampleRatio: ratio(times, 'sample'),
    samplerTrainerLogprobDifference: await ours.logprobDifference(),
    matmulGflops: Math.round(peak),
    shareOfMatmulPeak: Number((trainGflop() / (trainMs / 1000) / peak).toFixed(2)),
  };
}

/** Goals: at least 1 in training, 2 in sampling. Median of the rounds' own ratios. */
function ratio(times: Times, work: keyof Contender): number | undefined {
  const [ours, torch] = [times['memwriter']?.[work], times['torch']?.[work]];
  if (ours === undefined || torch === undefined) return undefined;
  return Number(median(torch.map((ms, round) => ms / Number(ours[round]))).toFixed(2));
}

type Times = Record<string, Record<keyof Contender, number[]>>;

async function inTurns(contenders: Readonly<Record<string, Contender>>): Promise<Times> {
  const times: Times = {};
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      const train = await milliseconds(async () => {
        for (let step = 0; step < STEPS_PER_ROUND; step++) await contender.train();
      });
      const sample = await milliseconds(() => contender.sample());
      if (round < 0) continue;
      times[name] ??= { train: [], sample: [] };
      times[name].train.push(train / STEPS_PER_ROUND);
      times[name].sample.push(sample);
    }
  }
  return times;
}

function createOurs(threads: number) {
  const parameters = initialiseParameters(CONFIG, 'bench');
  const rng = createRng('bench');
  const ids = (length: number): number[] =>
    Array.from({ length }, () => rng.int(0, CONFIG.vocabularySize - 1));
  const engine = createLocalEngine(
    { model: { config: CONFIG, parameters }, config: {}, language: new Map() },
    { threads, warn: console.error },
  );
  const samples = Array.from({ length: BATCH }, (): CrossEntropySample => {
    const weights_N = Array<number>(LENGTH).fill(1);
    return { kind: 'cross-entropy', tokenIds: ids(LENGTH + 1), from: 1, weights_N };
  });
  const prompts = Array.from({ length: BATCH }, () => ids(PROMPT));
  const loss = { clipLow: 0.2, clipHigh: 0.2, klArm: 'tail', entropyBonus: 0 } as const;
  const adam = { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, maxGradNorm: 1 };
  const sample = () =>
    Promise.all(
      prompts.map((prompt, i) =>
        engine.sample(prompt, { maxTokens: ANSWER, temperature: 1, stopIds: [], seed: `${i}` }),
      ),
    );
  return {
    parameters: parameters.flat.length,
    train: () => engine.step(samples, loss, { ...adam, learningRate: 1e-3 }),
    sample,
    logprobDifference: async (): Promise<number> => {
      const completions = await sample();
      const differences = completions.map(async ({ tokenIds, logprobs }, i) => {
        const scores = await engine.score([...(prompts[i] ?? []), ...tokenIds], PROMPT);
        return logprobs.map((logprob, k) => Math.abs(logprob - Number(scores[k])));
      });
      return Math.max(...(await Promise.all(differences)).flat());
    },
  };
}

async function startTorch(python: string, threads: number) {
  const child = spawn(python, ['bench/engine/torch_llama.py'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (request: unknown): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error(`${python} ended: does it have torch?`);
    return JSON.parse(value);
  };
  const hello = await ask({ config: CONFIG, threads });
  return {
    process: child,
    version: Object(hello).version,
    train: () => ask({ work: 'train', sizes: [BATCH, LENGTH] }),
    sample: () => ask({ work: 'sample', sizes: [BATCH, PROMPT, ANSWER] }),
  };
}

/** Forward and backward products of one step, attention over the causal half only. */
function trainGflop(): number {
  const { hiddenSize: d, intermediateSize: f, layers, heads, keyValueHeads, headDim } = CONFIG;
  const weights =
    layers * (d * headDim * (2 * heads + 2 * keyValueHeads) + 3 * d * f) +
    d * CONFIG.vocabularySize;
  const attention = layers * heads * headDim * LENGTH;
  return (6 * BATCH * LENGTH * (weights + attention)) / 1e9;
}

async function matmulGflops(threads: number): Promise<number> {
  const size = 1024;
  const graph = new Graph();
  const operands = ['a', 'b'].map((name) => graph.input(name, [size, size]));
  graph.output('c', graph.node({ op: 'MatMul', inputs: operands }, { shape: [size, size] }));
  const executor = await createOrtExecutor({ threads });
  await using program = await executor.compile(graph, { alone: true });
  const tensor = { dims: [size, size], data: new Float32Array(size * size).fill(0.5) };
  const times: number[] = [];
  for (let run = 0; run < 12; run++) {
    times.push(await milliseconds(() => program.run({ a: tensor, b: tensor })));
  }
  return (2 * size ** 3) / 1e6 / Math.min(...times);
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return Number(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]);
}
