/** What a plain-TypeScript kernel gets and gives: the shared vocabulary of the kernels-*.ts files. */
import type { FloatArray, Tensor } from './executor.ts';
import type { Attributes } from './graph.ts';

export interface KernelCall {
  readonly inputs: readonly (Tensor | undefined)[];
  readonly attributes: Attributes;
  /** Zeroed floats in the executor's precision. */
  allocate(length: number): FloatArray;
}

export type Kernel = (call: KernelCall) => readonly Tensor[];

export function input(call: KernelCall, index: number): Tensor {
  const tensor = call.inputs[index];
  if (tensor === undefined) throw new Error(`input ${index} is missing`);
  return tensor;
}

export function floatInput(call: KernelCall, index: number): FloatArray {
  const { data } = input(call, index);
  if (data instanceof Float32Array || data instanceof Float64Array) return data;
  throw new Error(`input ${index} must be floats`);
}

/** Indices, axes and shapes, whatever integer type they came in. */
export function integerInput(call: KernelCall, index: number): ArrayLike<number> {
  const { data } = input(call, index);
  return data instanceof BigInt64Array ? Array.from(data, Number) : data;
}

export function attribute(call: KernelCall, name: string): number {
  const value = call.attributes[name];
  if (typeof value !== 'number') throw new Error(`attribute ${name} must be a number`);
  return value;
}

export function product(dims: readonly number[]): number {
  return dims.reduce((total, dim) => total * dim, 1);
}

/** An element that the caller knows to exist; typed arrays read out of bounds only by a bug. */
export function at(values: ArrayLike<number>, index: number): number {
  const value = values[index];
  if (value === undefined) throw new RangeError(`index ${index} of ${values.length}`);
  return value;
}

export function axisOf(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}
