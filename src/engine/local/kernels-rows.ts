/** Kernels that treat the last axis as one row: softmax, normalisation, the k largest. */
import {
  at,
  attribute,
  floatInput,
  input,
  integerInput,
  type Kernel,
  type KernelCall,
} from './kernels.ts';

export const rowKernels: Readonly<Record<string, Kernel>> = {
  Softmax: (call) => softmax(call, false),
  LogSoftmax: (call) => softmax(call, true),
  SimplifiedLayerNormalization: (call) => {
    const x = floatInput(call, 0);
    const scale = floatInput(call, 1);
    const { dims } = input(call, 0);
    const width = at(dims, dims.length - 1);
    const epsilon = attribute(call, 'epsilon');
    const y = call.allocate(x.length);
    const inverse = call.allocate(x.length / width);
    for (let row = 0; row < inverse.length; row++) {
      let squares = 0;
      for (let i = row * width; i < (row + 1) * width; i++) squares += (x[i] as number) ** 2;
      const factor = 1 / Math.sqrt(squares / width + epsilon);
      inverse[row] = factor;
      for (let i = 0; i < width; i++) {
        y[row * width + i] = (x[row * width + i] as number) * factor * (scale[i] as number);
      }
    }
    return [
      { dims, data: y },
      { dims: [...dims.slice(0, -1), 1], data: inverse },
    ];
  },
  TopK: (call) => {
    const x = floatInput(call, 0);
    const { dims } = input(call, 0);
    const width = at(dims, dims.length - 1);
    const k = at(integerInput(call, 1), 0);
    const rows = x.length / width;
    const values = call.allocate(rows * k);
    const indices = new BigInt64Array(rows * k);
    for (let row = 0; row < rows; row++) {
      const cells = x.subarray(row * width, (row + 1) * width);
      const order = Array.from(cells.keys()).sort((i, j) => at(cells, j) - at(cells, i) || i - j);
      for (const [rank, index] of order.slice(0, k).entries()) {
        values[row * k + rank] = at(cells, index);
        indices[row * k + rank] = BigInt(index);
      }
    }
    const shape = [...dims.slice(0, -1), k];
    return [
      { dims: shape, data: values },
      { dims: shape, data: indices },
    ];
  },
  Cast: (call) => {
    const { dims, data } = input(call, 0);
    return [{ dims, data: data instanceof BigInt64Array ? Int32Array.from(data, Number) : data }];
  },
};

function softmax(call: KernelCall, logarithmic: boolean): ReturnType<Kernel> {
  const x = floatInput(call, 0);
  const { dims } = input(call, 0);
  const width = at(dims, dims.length - 1);
  const out = call.allocate(x.length);
  for (let start = 0; start < x.length; start += width) {
    let largest = Number.NEGATIVE_INFINITY;
    for (let i = start; i < start + width; i++) largest = Math.max(largest, x[i] as number);
    let total = 0;
    for (let i = start; i < start + width; i++) {
      const power = Math.exp((x[i] as number) - largest);
      out[i] = power;
      total += power;
    }
    const shift = largest + Math.log(total);
    for (let i = start; i < start + width; i++) {
      out[i] = logarithmic ? (x[i] as number) - shift : (out[i] as number) / total;
    }
  }
  return [{ dims, data: out }];
}
