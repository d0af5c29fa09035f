/** Kernels that move numbers without changing them, and sums over axes. */
import type { Tensor } from './executor.ts';
import {
  at,
  attribute,
  axisOf,
  floatInput,
  input,
  integerInput,
  type Kernel,
  type KernelCall,
  product,
} from './kernels.ts';
import { broadcast, expanded } from './kernels-elementwise.ts';

export const layoutKernels: Readonly<Record<string, Kernel>> = {
  Identity: (call) => [input(call, 0)],
  Reshape: (call) => {
    const { dims, data } = input(call, 0);
    const target = Array.from(integerInput(call, 1), (dim, axis) =>
      dim === 0 ? at(dims, axis) : dim,
    );
    const known = product(target.filter((dim) => dim !== -1));
    return [{ dims: target.map((dim) => (dim === -1 ? data.length / known : dim)), data }];
  },
  Shape: (call) => [
    {
      dims: [input(call, 0).dims.length],
      data: BigInt64Array.from(input(call, 0).dims, BigInt),
    },
  ],
  Expand: (call) => {
    const dims = broadcast([input(call, 0).dims, Array.from(integerInput(call, 1))]);
    return [pickElements(call, { dims, index: expanded(input(call, 0), dims) })];
  },
  Transpose: (call) => {
    const { dims } = input(call, 0);
    const perm = call.attributes['perm'];
    if (typeof perm !== 'object') throw new Error('perm must be a list');
    return [
      pickElements(call, {
        dims: perm.map((axis) => at(dims, axis)),
        index: permuted(dims, perm),
      }),
    ];
  },
  Gather: (call) => {
    const table = input(call, 0);
    const indices = integerInput(call, 1);
    const source = floatInput(call, 0);
    const width = product(table.dims.slice(1));
    const out = call.allocate(indices.length * width);
    for (let i = 0; i < indices.length; i++) {
      const start = at(indices, i) * width;
      out.set(source.subarray(start, start + width), i * width);
    }
    return [{ dims: [...input(call, 1).dims, ...table.dims.slice(1)], data: out }];
  },
  GatherElements: (call) => {
    const ids = integerInput(call, 1);
    const { dims } = input(call, 1);
    const source = floatInput(call, 0);
    const out = call.allocate(ids.length);
    const columns = at(dims, 1);
    const width = at(input(call, 0).dims, 1);
    for (let i = 0; i < out.length; i++) {
      out[i] = at(source, Math.floor(i / columns) * width + at(ids, i));
    }
    return [{ dims, data: out }];
  },
  ScatterElements: (call) => {
    if (call.attributes['reduction'] !== 'add') throw new Error('only added updates are known');
    const ids = integerInput(call, 1);
    const updates = floatInput(call, 2);
    const { dims } = input(call, 0);
    const out = call.allocate(product(dims));
    out.set(floatInput(call, 0));
    const columns = at(input(call, 1).dims, 1);
    const width = at(dims, 1);
    for (let i = 0; i < updates.length; i++) {
      const place = Math.floor(i / columns) * width + at(ids, i);
      out[place] = at(out, place) + at(updates, i);
    }
    return [{ dims, data: out }];
  },
  Concat: (call) => [concat(call)],
  Split: (call) => split(call),
  ReduceSum: (call) => [reduce(call, false)],
  ReduceMean: (call) => [reduce(call, true)],
};

interface Picking {
  readonly dims: readonly number[];
  readonly index: Int32Array;
}

function pickElements(call: KernelCall, { dims, index }: Picking): Tensor {
  const source = floatInput(call, 0);
  const out = call.allocate(index.length);
  for (let i = 0; i < out.length; i++) out[i] = source[index[i] as number] as number;
  return { dims, data: out };
}

function permuted(dims: readonly number[], perm: readonly number[]): Int32Array {
  const strides = dims.map((_, axis) => product(dims.slice(axis + 1)));
  let index = Int32Array.of(0);
  for (const axis of perm) {
    const size = at(dims, axis);
    const stride = at(strides, axis);
    const next = new Int32Array(index.length * size);
    for (let i = 0; i < index.length; i++) {
      for (let k = 0; k < size; k++) next[i * size + k] = (index[i] as number) + k * stride;
    }
    index = next;
  }
  return index;
}

function concat(call: KernelCall): Tensor {
  const tensors = call.inputs.map((_, index) => ({
    dims: input(call, index).dims,
    data: floatInput(call, index),
  }));
  const dims = [...input(call, 0).dims];
  const axis = axisOf(attribute(call, 'axis'), dims.length);
  dims[axis] = tensors.reduce((total, tensor) => total + at(tensor.dims, axis), 0);
  const inner = product(dims.slice(axis));
  const outer = product(dims.slice(0, axis));
  const out = call.allocate(product(dims));
  let offset = 0;
  for (const tensor of tensors) {
    const width = product(tensor.dims.slice(axis));
    for (let i = 0; i < outer; i++) {
      out.set(tensor.data.subarray(i * width, (i + 1) * width), i * inner + offset);
    }
    offset += width;
  }
  return { dims, data: out };
}

function split(call: KernelCall): Tensor[] {
  const { dims } = input(call, 0);
  const source = floatInput(call, 0);
  const axis = axisOf(attribute(call, 'axis'), dims.length);
  const outer = product(dims.slice(0, axis));
  const inner = product(dims.slice(axis + 1));
  const whole = at(dims, axis) * inner;
  let offset = 0;
  return splitSizes(call, at(dims, axis)).map((size) => {
    const width = size * inner;
    const out = call.allocate(outer * width);
    for (let i = 0; i < outer; i++) {
      const from = i * whole + offset;
      out.set(source.subarray(from, from + width), i * width);
    }
    offset += width;
    return { dims: dims.map((dim, index) => (index === axis ? size : dim)), data: out };
  });
}

/** Given, or equal parts. */
function splitSizes(call: KernelCall, whole: number): number[] {
  if (call.inputs[1] !== undefined) return Array.from(integerInput(call, 1));
  const parts = attribute(call, 'num_outputs');
  if (whole % parts !== 0) throw new Error(`${whole} does not split into ${parts} equal parts`);
  return Array<number>(parts).fill(whole / parts);
}

function reduce(call: KernelCall, mean: boolean): Tensor {
  const { dims } = input(call, 0);
  const source = floatInput(call, 0);
  const axes = Array.from(integerInput(call, 1), (axis) => axisOf(axis, dims.length));
  const kept = dims.map((dim, axis) => (axes.includes(axis) ? 1 : dim));
  const total = new Float64Array(product(kept));
  const target = expanded({ dims: kept, data: total }, dims);
  for (let i = 0; i < source.length; i++) {
    const place = target[i] as number;
    total[place] = (total[place] as number) + (source[i] as number);
  }
  const count = mean ? source.length / total.length : 1;
  const out = call.allocate(total.length);
  for (let i = 0; i < out.length; i++) out[i] = (total[i] as number) / count;
  const keep = attribute(call, 'keepdims') === 1;
  return { dims: keep ? kept : dims.filter((_, axis) => !axes.includes(axis)), data: out };
}
