/** Elementwise kernels with numpy broadcasting. */
import type { FloatArray, Tensor } from './executor.ts';
import { attribute, floatInput, input, type Kernel, product } from './kernels.ts';

type BinaryFunction = (a: number, b: number) => number;

const BINARY: Readonly<Record<string, BinaryFunction>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Div: (a, b) => a / b,
  Min: Math.min,
  Max: Math.max,
  LessOrEqual: (a, b) => (a <= b ? 1 : 0),
  GreaterOrEqual: (a, b) => (a >= b ? 1 : 0),
};

const UNARY: Readonly<Record<string, (x: number) => number>> = {
  Exp: Math.exp,
  Log: Math.log,
  Neg: (x) => -x,
  Sqrt: Math.sqrt,
  Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
};

export const elementwiseKernels: Readonly<Record<string, Kernel>> = {
  ...Object.fromEntries(
    Object.entries(BINARY).map(([op, apply]): [string, Kernel] => [
      op,
      (call) => {
        const a = floatInput(call, 0);
        const b = floatInput(call, 1);
        const dims = broadcast([input(call, 0).dims, input(call, 1).dims]);
        const out = call.allocate(product(dims));
        if (a.length === out.length && b.length === out.length) {
          for (let i = 0; i < out.length; i++) out[i] = apply(a[i] as number, b[i] as number);
        } else {
          const left = expanded(input(call, 0), dims);
          const right = expanded(input(call, 1), dims);
          for (let i = 0; i < out.length; i++) {
            out[i] = apply(a[left[i] as number] as number, b[right[i] as number] as number);
          }
        }
        return [{ dims, data: out }];
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(UNARY).map(([op, apply]): [string, Kernel] => [
      op,
      (call) => {
        const x = floatInput(call, 0);
        const out = call.allocate(x.length);
        for (let i = 0; i < x.length; i++) out[i] = apply(x[i] as number);
        return [{ dims: input(call, 0).dims, data: out }];
      },
    ]),
  ),
  /** x·σ(αx), which is SiLU at α = 1. */
  QuickGelu: (call) => {
    const x = floatInput(call, 0);
    const alpha = attribute(call, 'alpha');
    const out = call.allocate(x.length);
    for (let i = 0; i < x.length; i++) {
      const value = x[i] as number;
      out[i] = value / (1 + Math.exp(-alpha * value));
    }
    return [{ dims: input(call, 0).dims, data: out }];
  },
  Where: (call) => {
    const dims = broadcast(call.inputs.map((tensor) => (tensor === undefined ? [] : tensor.dims)));
    const [condition, taken, refused] = [0, 1, 2].map((index) => ({
      data: floatInput(call, index),
      index: expanded(input(call, index), dims),
    }));
    if (condition === undefined || taken === undefined || refused === undefined) return [];
    const out: FloatArray = call.allocate(product(dims));
    for (let i = 0; i < out.length; i++) {
      const source = condition.data[condition.index[i] as number] !== 0 ? taken : refused;
      out[i] = source.data[source.index[i] as number] as number;
    }
    return [{ dims, data: out }];
  },
};

export function broadcast(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) =>
    Math.max(...shapes.map((shape) => shape[shape.length - rank + axis] ?? 1)),
  );
}

/** For each element of the broadcast result, which element of the tensor it reads. */
export function expanded(tensor: Tensor, dims: readonly number[]): Int32Array {
  const { dims: own } = tensor;
  let index = Int32Array.of(0);
  let stride = product(own);
  for (const [axis, dim] of dims.entries()) {
    const size = own[own.length - dims.length + axis] ?? 1;
    stride /= axis < dims.length - own.length ? 1 : size;
    const next = new Int32Array(index.length * dim);
    for (let i = 0; i < index.length; i++) {
      for (let k = 0; k < dim; k++) {
        next[i * dim + k] = (index[i] as number) + (size === 1 ? 0 : k * stride);
      }
    }
    index = next;
  }
  return index;
}
