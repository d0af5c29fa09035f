/** The Llama decoder over a right-padded batch, differentiable: tokens in, logits of the chosen rows out. Where its weights come from is the caller's. */
import type { Tape } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import type { Tensor, Tensors } from './executor.ts';
import type { Shape, Value } from './graph.ts';
import { concatenate, linear, reshape, selectRows, splitEqually, transpose } from './ops.ts';
import { attention, type Rotation, rmsNorm, rotate } from './ops-transformer.ts';

/** Sizes known only at run time. `tokens` = batch · length; `rows` are the positions whose logits are wanted. */
const TOKENS = 'tokens';
const BATCH = 'batch';
const LENGTH = 'length';
const ROWS = 'rows';

/**
 * Queries are handled in this many blocks of consecutive positions, each against the keys up to its own end:
 * 5/8 of the scores, and pieces that stay in the cache of the processor.
 */
const BLOCKS = 4;
/** Padded lengths are multiples of this. */
export const LENGTH_MULTIPLE = 32;

/** Added to masked scores: their share is then below 1e-38. */
const MASKED = -1e9;

/** Weights with the scale of the norm before them folded in, and what differs between training and inference. */
export interface DecoderParts {
  readonly embedding: Value;
  readonly head: Value;
  layer(index: number): DecoderLayer;
  /** silu(gate) · up. */
  gated(gate: Value, up: Value): Value;
  /** Sees each layer's rotated keys and its values, [batch, kvHeads, length, headDim]. */
  observe?(layer: number, keysAndValues: { readonly key: Value; readonly value: Value }): void;
}

export type DecoderLayer = Readonly<
  Record<'query' | 'key' | 'value' | 'output' | 'gate' | 'up' | 'down', Value>
>;

export interface Decoder {
  /** Embedded tokens before the first block, [tokens, hidden]: a leaf, whose gradient the trainer adds to the embedding's rows. */
  readonly embedded: Value;
  /** [rows, vocabulary]. */
  readonly logits: Value;
}

interface Build {
  readonly tape: Tape;
  readonly config: LlamaConfig;
  readonly parts: DecoderParts;
  readonly rotation: Rotation;
  /** One for each block of queries: [group · block, keys up to the block's end]. */
  readonly masks: readonly Value[];
  readonly shapes: Record<'query' | 'key' | 'value' | 'heads', Value>;
}

/** Builds the graph that `decoderFeeds` feeds. */
export function buildDecoder(tape: Tape, config: LlamaConfig, parts: DecoderParts): Decoder {
  const { graph } = tape;
  const tokens = graph.input('tokens', [TOKENS], 'i32');
  const rows = graph.input('rows', [ROWS], 'i32');
  const inverse = graph.input('inverse', [TOKENS], 'i32');
  const group = config.heads / config.keyValueHeads;
  const build: Build = {
    tape,
    config,
    parts,
    rotation: rotationTables(tape, config),
    masks: blockEnds().map((end, index) => graph.input(maskName(index), [blockRows(group), end])),
    shapes: {
      query: graph.input('shape.query', [3], 'i64'),
      key: graph.input('shape.key', [3], 'i64'),
      value: graph.input('shape.value', [4], 'i64'),
      heads: graph.input('shape.heads', [4], 'i64'),
    },
  };
  const embedded = graph.node(
    { op: 'Gather', inputs: [parts.embedding, tokens], attributes: { axis: 0 } },
    { shape: [TOKENS, config.hiddenSize] },
  );
  const last = config.layers - 1;
  let hidden = embedded;
  for (let layer = 0; layer < last; layer++) {
    hidden = feedForward(build, { hidden, attended: selfAttention(build, hidden, layer), layer });
  }
  // After the last attention no position looks at another, so only the wanted rows go on.
  const attended = selfAttention(build, hidden, last);
  const chosen = feedForward(build, {
    hidden: selectRows(tape, hidden, { rows, inverse }),
    attended: selectRows(tape, attended, { rows, inverse }),
    layer: last,
  });
  const normed = rmsNorm(tape, chosen, config.rmsNormEpsilon);
  return { embedded, logits: linear(tape, normed, { weight: parts.head }) };
}

interface Attended {
  readonly hidden: Value;
  readonly attended: Value;
  readonly layer: number;
}

/** The part of a block that treats each position by itself, with both residuals. */
function feedForward(build: Build, { hidden, attended, layer }: Attended): Value {
  const { tape, config, parts } = build;
  const weights = parts.layer(layer);
  const middle = linear(tape, attended, { weight: weights.output, residual: hidden });
  const normed = rmsNorm(tape, middle, config.rmsNormEpsilon);
  const gate = linear(tape, normed, { weight: weights.gate });
  const up = linear(tape, normed, { weight: weights.up });
  const inner = parts.gated(gate, up);
  return linear(tape, inner, { weight: weights.down, residual: middle });
}

/** Grouped queries: the query heads of one key head lie below each other, so one product serves them all. */
function selfAttention(build: Build, hidden: Value, layer: number): Value {
  const { tape, config, parts, rotation, shapes } = build;
  const x = rmsNorm(tape, hidden, config.rmsNormEpsilon);
  const weights = parts.layer(layer);
  const { heads, keyValueHeads, headDim } = config;
  const turned = (name: 'query' | 'key', count: number): Value => {
    const projected = reshape(tape, linear(tape, x, { weight: weights[name] }), {
      shape: [BATCH, LENGTH, count * headDim],
      sizes: shapes[name],
    });
    const split: Shape = [BATCH, LENGTH, count, headDim];
    return transpose(
      tape,
      reshape(tape, rotate(tape, projected, rotation), { shape: split }),
      [0, 2, 1, 3],
    );
  };
  const split = reshape(tape, linear(tape, x, { weight: weights.value }), {
    shape: [BATCH, LENGTH, keyValueHeads, headDim],
    sizes: shapes.value,
  });
  const key = turned('key', keyValueHeads);
  const value = transpose(tape, split, [0, 2, 1, 3]);
  parts.observe?.(layer, { key, value });
  const perHead = causalAttention(build, {
    query: turned('query', heads),
    key,
    value,
  });
  return reshape(tape, transpose(tape, perHead, [0, 2, 1, 3]), {
    shape: [TOKENS, heads * headDim],
    back: shapes.heads,
  });
}

type Heads = Readonly<Record<'query' | 'key' | 'value', Value>>;

/** [batch, heads, length, headDim] from queries of that shape and keys and values with fewer heads. */
function causalAttention({ tape, config, masks }: Build, { query, key, value }: Heads): Value {
  const { heads, keyValueHeads, headDim } = config;
  const group = heads / keyValueHeads;
  const cut = { axis: 2, parts: BLOCKS, size: BLOCK };
  const [queries, keys, values] = [query, key, value].map((x) => splitEqually(tape, x, cut));
  const ends = blockEnds();
  const upTo = (parts: readonly Value[] | undefined, index: number): Value =>
    concatenate(tape, parts?.slice(0, index + 1) ?? [], { axis: 2, size: ends[index] ?? LENGTH });
  const outputs = masks.map((mask, index): Value => {
    const block = queries?.[index];
    if (block === undefined) throw new Error(`no block ${index}`);
    const stacked: Shape = [BATCH, keyValueHeads, blockRows(group), headDim];
    const output = attention(tape, {
      query: group === 1 ? block : reshape(tape, block, { shape: stacked }),
      key: upTo(keys, index),
      value: upTo(values, index),
      mask,
    });
    const unstacked: Shape = [BATCH, heads, BLOCK, headDim];
    return group === 1 ? output : reshape(tape, output, { shape: unstacked });
  });
  return concatenate(tape, outputs, { axis: 2, size: LENGTH });
}

const BLOCK = `${LENGTH}/${BLOCKS}`;

/** Names of the sizes 1/BLOCKS, 2/BLOCKS, … of the length. */
function blockEnds(): string[] {
  return Array.from({ length: BLOCKS }, (_, index) => {
    if (index === BLOCKS - 1) return LENGTH;
    return index === 0 ? BLOCK : `${index + 1}·${BLOCK}`;
  });
}

function blockRows(group: number): string {
  return group === 1 ? BLOCK : `${group}·${BLOCK}`;
}

function maskName(block: number): string {
  return `mask ${block}`;
}

function rotationTables(tape: Tape, config: LlamaConfig): Rotation {
  const { cos, sin } = rotaryTables(config);
  const shape: Shape = [rotaryLength(config), config.headDim / 2];
  return {
    cos: tape.graph.table(cos, shape),
    sin: tape.graph.table(sin, shape),
    minusSin: tape.graph.table(
      sin.map((value) => -value),
      shape,
    ),
  };
}

/** Rows of the rotary tables: a padded batch may be longer than the context, though nothing in it is. */
export function rotaryLength({ contextLength }: LlamaConfig): number {
  return Math.ceil(contextLength / LENGTH_MULTIPLE) * LENGTH_MULTIPLE;
}

/** cos and sin of position · theta^(−2i/d), row by position. */
export function rotaryTables(config: LlamaConfig): { cos: Float32Array; sin: Float32Array } {
  const half = config.headDim / 2;
  const length = rotaryLength(config);
  const cos = new Float32Array(length * half);
  const sin = new Float32Array(length * half);
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * config.ropeTheta ** (-i / half);
      cos[position * half + i] = Math.cos(angle);
      sin[position * half + i] = Math.sin(angle);
    }
  }
  return { cos, sin };
}

/** A right-padded batch: row b of `tokens` holds one segment from position 0. */
export interface DecoderBatch {
  readonly batch: number;
  readonly length: number;
  readonly tokens: Int32Array;
  /** Distinct flat positions (b · length + t) whose logits are wanted. */
  readonly rows: Int32Array;
}

/** Everything the graph is fed apart from the weights. Causality alone hides the padding: it lies on the right. */
export function decoderFeeds(config: LlamaConfig, batch: DecoderBatch): Tensors {
  const { batch: size, length, tokens, rows } = batch;
  const { heads, keyValueHeads, headDim } = config;
  const inverse = new Int32Array(tokens.length).fill(rows.length);
  for (const [index, row] of rows.entries()) inverse[row] = index;
  const shape = (...dims: number[]): Tensor => ({
    dims: [dims.length],
    data: BigInt64Array.from(dims, BigInt),
  });
  const group = heads / keyValueHeads;
  const masks = Object.fromEntries(
    Array.from({ length: BLOCKS }, (_, block): [string, Tensor] => [
      maskName(block),
      blockMask({ block, group, length }),
    ]),
  );
  return {
    tokens: { dims: [tokens.length], data: tokens },
    rows: { dims: [rows.length], data: rows },
    inverse: { dims: [inverse.length], data: inverse },
    ...masks,
    'shape.query': shape(size, length, heads * headDim),
    'shape.key': shape(size, length, keyValueHeads * headDim),
    'shape.value': shape(size, length, keyValueHeads, headDim),
    'shape.heads': shape(size, length, heads, headDim),
  };
}

interface BlockMask {
  readonly block: number;
  readonly group: number;
  readonly length: number;
}

function blockMask({ block, group, length }: BlockMask): Tensor {
  const rows = length / BLOCKS;
  const columns = (block + 1) * rows;
  const data = new Float32Array(group * rows * columns);
  for (let row = 0; row < group * rows; row++) {
    const position = block * rows + (row % rows);
    data.fill(MASKED, row * columns + position + 1, (row + 1) * columns);
  }
  return { dims: [group * rows, columns], data };
}
