/** One decoding step as a graph: a token for each running call, its cache only read, its new key and value handed back. */
import { binary, Tape, unary } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import { rotaryLength, rotaryTables } from './decoder.ts';
import { floats, type Tensors } from './executor.ts';
import type { Graph, Shape, Value } from './graph.ts';
import { gatedUnit } from './inference.ts';
import { cacheNames } from './key-value-cache.ts';
import { fusedProduct, linear } from './ops.ts';
import { rmsNorm } from './ops-transformer.ts';
import { INFERENCE_EMBEDDING, INFERENCE_HEAD, inferenceName } from './published.ts';

const BATCH = 'batch';
const CAPACITY = 'capacity';

/**
 * Scores are not taken below the token's own score plus this: a share of e^−60 counts for nothing in single
 * precision, while the far smaller one of a masked position is a denormal number, which costs the processor a detour.
 */
const NEGLIGIBLE = -60;

interface Build {
  readonly tape: Tape;
  readonly config: LlamaConfig;
  readonly positions: Value;
  readonly mask: Value;
  /** Sizes of the past and the new part of a row of scores. */
  readonly parts: Value;
  readonly rotation: { readonly cos: Value; readonly sin: Value };
  weight(name: string): Value;
}

/**
 * Fed: `tokens` [batch], `positions` [batch, 1], `mask` [batch, 1, 1, capacity] (0 where the cache holds
 * something, very negative elsewhere), `parts` (capacity, 1), the cache. The weights are constants, which the
 * runtime rearranges once for its kernels: with few rows a product would spend most of its time on that.
 */
export function buildDecodeGraph(config: LlamaConfig, weights: Tensors): Graph {
  const tape = new Tape();
  const { graph } = tape;
  const weight = (name: string): Value => {
    const tensor = weights[name];
    if (tensor === undefined) throw new Error(`no weight ${name}`);
    return graph.table(floats(weights, name), tensor.dims);
  };
  const { cos, sin } = rotaryTables(config);
  const tableShape: Shape = [rotaryLength(config), config.headDim / 2];
  const tokens = graph.input('tokens', [BATCH], 'i32');
  const build: Build = {
    tape,
    config,
    weight,
    positions: graph.input('positions', [BATCH, 1], 'i64'),
    mask: graph.input('mask', [BATCH, 1, 1, CAPACITY]),
    parts: graph.input('parts', [2], 'i64'),
    rotation: { cos: graph.table(cos, tableShape), sin: graph.table(sin, tableShape) },
  };
  let hidden = graph.node(
    { op: 'Gather', inputs: [weight(INFERENCE_EMBEDDING), tokens], attributes: { axis: 0 } },
    { shape: [BATCH, config.hiddenSize] },
  );
  for (let layer = 0; layer < config.layers; layer++) {
    hidden = feedForward(build, attend(build, hidden, layer), layer);
  }
  const logits = linear(tape, rmsNorm(tape, hidden, config.rmsNormEpsilon), {
    weight: weight(INFERENCE_HEAD),
  });
  const logprobs = graph.node(
    { op: 'LogSoftmax', inputs: [logits], attributes: { axis: -1 } },
    { shape: logits.shape },
  );
  graph.output('logprobs', logprobs);
  graph.output('probabilities', unary(tape, 'Exp', logprobs));
  return graph;
}

/** The first half of a block, with its residual. Keys lie transposed in the cache: a row times a matrix, twice. */
function attend(build: Build, hidden: Value, layer: number): Value {
  const { tape, config, mask, parts, weight } = build;
  const { graph } = tape;
  const { heads, keyValueHeads, headDim } = config;
  const group = heads / keyValueHeads;
  const names = cacheNames(layer);
  const keys = graph.input(names.keys, [BATCH, keyValueHeads, headDim, CAPACITY]);
  const values = graph.input(names.values, [BATCH, keyValueHeads, CAPACITY, headDim]);
  const { query, key, value } = project(build, hidden, layer);
  graph.output(names.newKeys, key);
  graph.output(names.newValues, value);
  const alpha = 1 / Math.sqrt(headDim);
  const own = fusedProduct(tape, [query, key], { alpha });
  const masked = binary(tape, 'Add', [fusedProduct(tape, [query, keys], { alpha }), mask]);
  const floor = binary(tape, 'Add', [own, graph.scalar(NEGLIGIBLE)]);
  const past = binary(tape, 'Max', [masked, floor]);
  const scores = graph.node(
    { op: 'Concat', inputs: [past, own], attributes: { axis: 3 } },
    { shape: [BATCH, keyValueHeads, group, `${CAPACITY}+1`] },
  );
  const share = graph.node(
    { op: 'Softmax', inputs: [scores], attributes: { axis: -1 } },
    { shape: scores.shape },
  );
  const [pastShare, ownShare] = graph.multi(
    { op: 'Split', inputs: [share, parts], attributes: { axis: 3 } },
    [{ shape: past.shape }, { shape: own.shape }],
  );
  if (pastShare === undefined || ownShare === undefined)
    throw new Error('two parts were asked for');
  const attended = binary(tape, 'Add', [
    fusedProduct(tape, [pastShare, values], {}),
    binary(tape, 'Mul', [ownShare, value]),
  ]);
  const flat = graph.node(
    { op: 'Reshape', inputs: [attended, graph.integers([0, -1])] },
    { shape: [BATCH, heads * headDim] },
  );
  const output = weight(inferenceName(layer, 'output'));
  return linear(tape, flat, { weight: output, residual: hidden });
}

/** The second half of a block, with its residual. */
function feedForward({ tape, config, weight }: Build, hidden: Value, layer: number): Value {
  const normed = rmsNorm(tape, hidden, config.rmsNormEpsilon);
  const gate = linear(tape, normed, { weight: weight(inferenceName(layer, 'gate')) });
  const up = linear(tape, normed, { weight: weight(inferenceName(layer, 'up')) });
  const down = weight(inferenceName(layer, 'down'));
  return linear(tape, gatedUnit(tape, gate, up), { weight: down, residual: hidden });
}

interface Projected {
  readonly query: Value;
  readonly key: Value;
  readonly value: Value;
}

/** query [batch, kvHeads, group, headDim], key [batch, kvHeads, headDim, 1], value [batch, kvHeads, 1, headDim]. */
function project(build: Build, hidden: Value, layer: number): Projected {
  const { tape, config, positions, rotation, weight } = build;
  const { graph } = tape;
  const { heads, keyValueHeads, headDim } = config;
  const rotatedWidth = (heads + keyValueHeads) * headDim;
  const keyWidth = keyValueHeads * headDim;
  const normed = rmsNorm(tape, hidden, config.rmsNormEpsilon);
  const joined = linear(tape, normed, { weight: weight(inferenceName(layer, 'attention')) });
  const cut = (value: Value, axis: number, sizes: readonly [number, number]): [Value, Value] => {
    const lead = value.shape.slice(0, -1);
    const described = sizes.map((size) => ({ shape: [...lead, size] }));
    const [first, second] = graph.multi(
      { op: 'Split', inputs: [value, graph.integers(sizes)], attributes: { axis } },
      described,
    );
    if (first === undefined || second === undefined) throw new Error('two parts were asked for');
    return [first, second];
  };
  const shaped = (value: Value, target: readonly number[]): Value =>
    graph.node(
      { op: 'Reshape', inputs: [value, graph.integers([0, ...target])] },
      { shape: [BATCH, ...target] },
    );
  const [straight, value] = cut(joined, 1, [rotatedWidth, keyWidth]);
  const turned = graph.node(
    {
      op: 'RotaryEmbedding',
      inputs: [shaped(straight, [1, rotatedWidth]), positions, rotation.cos, rotation.sin],
      attributes: { interleaved: 0 },
    },
    { shape: [BATCH, 1, rotatedWidth] },
  );
  const [query, key] = cut(turned, 2, [heads * headDim, keyWidth]);
  return {
    query: shaped(query, [keyValueHeads, heads / keyValueHeads, headDim]),
    key: shaped(key, [keyValueHeads, headDim, 1]),
    value: shaped(value, [keyValueHeads, 1, headDim]),
  };
}
