/** What runs a graph: compiled once, then fed tensors. */
import type { Graph } from './graph.ts';

export type FloatArray = Float32Array | Float64Array;
export type TensorData = FloatArray | Int32Array | BigInt64Array;

export interface Tensor {
  readonly dims: readonly number[];
  readonly data: TensorData;
}

export type Tensors = Readonly<Record<string, Tensor>>;

export interface Program extends AsyncDisposable {
  /** Results by output name, in arrays of their own. What is fed is only read. */
  run(feeds: Tensors): Promise<Tensors>;
}

export interface CompileOptions {
  /** Nothing else is expected to want the cores during a run, so waiting threads may poll for a moment. */
  readonly alone: boolean;
}

export interface Executor {
  readonly name: 'onnxruntime' | 'typescript';
  compile(graph: Graph, options: CompileOptions): Promise<Program>;
}

/** The float data of a named result. */
export function floats(tensors: Tensors, name: string): FloatArray {
  const data = tensors[name]?.data;
  if (data instanceof Float32Array || data instanceof Float64Array) return data;
  throw new Error(`no float tensor ${name}`);
}
