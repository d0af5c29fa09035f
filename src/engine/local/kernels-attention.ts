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
  /** x[batch, length, heads · headDim]; one first position for all rows, or one position for each token. */
  RotaryEmbedding: (call) => {
    const x = floatInput(call, 0);
    const { dims } = input(call, 0);
    const cos = floatInput(call, 2);
    const sin = floatInput(call, 3);
    const half = at(input(call, 2).dims, 1);
    const length = at(dims, 1);
    const width = at(dims, 2);
    const positions = integerInput(call, 1);
    const out = call.allocate(x.length);
    for (let start = 0; start < x.length; start += 2 * half) {
      const token = Math.floor(start / width);
      const position =
        positions.length === 1 ? at(positions, 0) + (token % length) : at(positions, token);
      turn({ from: x, to: out, start, half, cos, sin, position });
    }
    return [{ dims, data: out }];
  },
  /** A prompt from position 0: packed query, key and value [batch, length, …]; keys and values come out per head. */
  GroupQueryAttention: (call) => {
    const sizes = attentionSizes(call);
    const { batch, length, heads, keyValueHeads, headDim } = sizes;
    const key = call.allocate(batch * keyValueHeads * length * headDim);
    const value = call.allocate(batch * keyValueHeads * length * headDim);
    const out = call.allocate(batch * length * heads * headDim);
    const work: Attending = { call, sizes, key, value, out };
    for (let row = 0; row < batch; row++) {
      for (let position = 0; position < length; position++) attendAt(work, row, position);
    }
    const cacheDims = [batch, keyValueHeads, length, headDim];
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
  const headDim = at(dims, 2) / (heads + 2 * keyValueHeads);
  return { batch: at(dims, 0), length: at(dims, 1), heads, keyValueHeads, headDim };
}

interface Attending {
  readonly call: KernelCall;
  readonly sizes: ReturnType<typeof attentionSizes>;
  readonly key: FloatArray;
  readonly value: FloatArray;
  readonly out: FloatArray;
}

/** Stores one position's key and value, then attends from it to all positions up to its own. */
function attendAt(work: Attending, row: number, position: number): void {
  const { call, sizes } = work;
  const { length, heads, keyValueHeads, headDim } = sizes;
  const packed = floatInput(call, 0);
  const table = { half: headDim / 2, cos: floatInput(call, 7), sin: floatInput(call, 8), position };
  const base = (row * length + position) * (heads + 2 * keyValueHeads) * headDim;
  for (let head = 0; head < keyValueHeads; head++) {
    const from = base + (heads + head) * headDim;
    const to = ((row * keyValueHeads + head) * length + position) * headDim;
    turn({ from: packed.subarray(from), to: work.key.subarray(to), start: 0, ...table });
    const valueFrom = from + keyValueHeads * headDim;
    work.value.set(packed.subarray(valueFrom, valueFrom + headDim), to);
  }
  const query = call.allocate(headDim);
  for (let head = 0; head < heads; head++) {
    turn({ from: packed.subarray(base + head * headDim), to: query, start: 0, ...table });
    const keyHead = Math.floor((head * keyValueHeads) / heads);
    const cache = (row * keyValueHeads + keyHead) * length * headDim;
    const to = ((row * length + position) * heads + head) * headDim;
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
