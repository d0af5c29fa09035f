/** Rotary positions and cached attention as onnxruntime's contributed operations define them. */
import type { FloatArray } from './executor.ts';
import {
  at,
  attribute,
  floatInput,
  input,
  integerInput,
  type Kernel,
  type KernelCall,
} from './kernels.ts';

export const attentionKernels: Readonly<Record<string, Kernel>> = {
  /** x[batch, length, heads · headDim], positions from 0. */
  RotaryEmbedding: (call) => {
    const x = floatInput(call, 0);
    const { dims } = input(call, 0);
    const cos = floatInput(call, 2);
    const sin = floatInput(call, 3);
    const half = at(input(call, 2).dims, 1);
    const length = at(dims, 1);
    const width = at(dims, 2);
    const out = call.allocate(x.length);
    for (let start = 0; start < x.length; start += 2 * half) {
      const position = Math.floor(start / width) % length;
      turn({ from: x, to: out, start, half, cos, sin, position });
    }
    return [{ dims, data: out }];
  },
  /**
   * Packed query, key and value [batch, length, …]; ragged rows; the cache is written in place where one is fed.
   * A prompt (length = total) starts at position 0, anything else continues its row.
   */
  GroupQueryAttention: (call) => {
    const sizes = attentionSizes(call);
    const { batch, length, heads, keyValueHeads, headDim, isPrompt } = sizes;
    const capacity = call.inputs[3] === undefined ? length : at(input(call, 3).dims, 2);
    const room = batch * keyValueHeads * capacity * headDim;
    const key = call.inputs[3] === undefined ? call.allocate(room) : floatInput(call, 3);
    const value = call.inputs[4] === undefined ? call.allocate(room) : floatInput(call, 4);
    const out = call.allocate(batch * length * heads * headDim);
    const ends = integerInput(call, 5);
    const work: Attending = { call, sizes, capacity, key, value, out };
    for (let row = 0; row < batch; row++) {
      const start = isPrompt ? 0 : at(ends, row) + 1 - length;
      for (let step = 0; step < length; step++)
        attendAt(work, { row, step, position: start + step });
    }
    const cacheDims = [batch, keyValueHeads, capacity, headDim];
    return [
      { dims: [batch, length, heads * headDim], data: out },
      { dims: cacheDims, data: key },
      { dims: cacheDims, data: value },
    ];
  },
};

function attentionSizes(call: KernelCall) {
  const { dims } = input(call, 0);
  const heads = attribute(call, 'num_heads');
  const keyValueHeads = attribute(call, 'kv_num_heads');
  const length = at(dims, 1);
  return {
    batch: at(dims, 0),
    length,
    heads,
    keyValueHeads,
    headDim: at(dims, 2) / (heads + 2 * keyValueHeads),
    isPrompt: length === at(integerInput(call, 6), 0),
  };
}

interface Attending {
  readonly call: KernelCall;
  readonly sizes: ReturnType<typeof attentionSizes>;
  readonly capacity: number;
  readonly key: FloatArray;
  readonly value: FloatArray;
  readonly out: FloatArray;
}

interface Place {
  readonly row: number;
  readonly step: number;
  readonly position: number;
}

/** Puts one position's key and value into the cache, then attends from it to all positions up to its own. */
function attendAt(work: Attending, { row, step, position }: Place): void {
  const { call, sizes, capacity } = work;
  const { length, heads, keyValueHeads, headDim } = sizes;
  const packed = floatInput(call, 0);
  const [cos, sin] = [floatInput(call, 7), floatInput(call, 8)];
  const half = headDim / 2;
  const base = (row * length + step) * (heads + 2 * keyValueHeads) * headDim;
  for (let head = 0; head < keyValueHeads; head++) {
    const from = base + (heads + head) * headDim;
    const to = ((row * keyValueHeads + head) * capacity + position) * headDim;
    const rotated = packed.slice(from, from + headDim);
    turn({ from: packed.subarray(from), to: rotated, start: 0, half, cos, sin, position });
    work.key.set(rotated, to);
    const valueFrom = from + keyValueHeads * headDim;
    work.value.set(packed.subarray(valueFrom, valueFrom + headDim), to);
  }
  for (let head = 0; head < heads; head++) {
    const query = packed.slice(base + head * headDim, base + (head + 1) * headDim);
    const source = packed.subarray(base + head * headDim);
    turn({ from: source, to: query, start: 0, half, cos, sin, position });
    const keyHead = Math.floor((head * keyValueHeads) / heads);
    const cache = (row * keyValueHeads + keyHead) * capacity * headDim;
    const to = ((row * length + step) * heads + head) * headDim;
    attendHead(work, { query, cache, to, count: position + 1 });
  }
}

interface HeadPlace {
  readonly query: FloatArray;
  readonly cache: number;
  readonly to: number;
  readonly count: number;
}

function attendHead(work: Attending, { query, cache, to, count }: HeadPlace): void {
  const { key, value, out } = work;
  const { headDim } = work.sizes;
  const scale = attribute(work.call, 'scale');
  const scores = new Float64Array(count);
  for (let k = 0; k < count; k++) {
    let sum = 0;
    for (let i = 0; i < headDim; i++) sum += at(query, i) * at(key, cache + k * headDim + i);
    scores[k] = sum * scale;
  }
  const largest = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
  const weights = scores.map((score) => Math.exp(score - largest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  for (let i = 0; i < headDim; i++) {
    let sum = 0;
    for (let k = 0; k < count; k++) sum += at(weights, k) * at(value, cache + k * headDim + i);
    out[to + i] = sum / total;
  }
}

interface Turn {
  readonly from: FloatArray;
  readonly to: FloatArray;
  readonly start: number;
  readonly half: number;
  readonly cos: FloatArray;
  readonly sin: FloatArray;
  readonly position: number;
}

/** One head at one position: (a, b) → (a·cos − b·sin, b·cos + a·sin), a and b the two halves. */
function turn({ from, to, start, half, cos, sin, position }: Turn): void {
  for (let i = 0; i < half; i++) {
    const c = at(cos, position * half + i);
    const s = at(sin, position * half + i);
    const a = at(from, start + i);
    const b = at(from, start + half + i);
    to[start + i] = a * c - b * s;
    to[start + half + i] = b * c + a * s;
  }
}
