/** Runs graphs on onnxruntime-node: native kernels, forward and backward alike. */
import type * as Ort from 'onnxruntime-node';
import type { CompileOptions, Executor, Program, Tensor, TensorData, Tensors } from './executor.ts';
import type { Graph } from './graph.ts';
import { toOnnx } from './onnx.ts';

export interface OrtOptions {
  readonly threads: number;
}

/** Rejects where the native library is missing. */
export async function createOrtExecutor({ threads }: OrtOptions): Promise<Executor> {
  const ort = await import('onnxruntime-node');
  return {
    name: 'onnxruntime',
    compile: async (graph: Graph, { alone }: CompileOptions): Promise<Program> => {
      const session = await ort.InferenceSession.create(toOnnx(graph), {
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        enableMemPattern: true,
        logSeverityLevel: 3,
        extra: { session: { ...waiting(alone), force_spinning_stop: '1' } },
      });
      return createProgram(ort, session);
    },
  };
}

/**
 * How native threads wait for the next piece of a run. By default they poll for long, which burns the cores that a
 * framework's own workers need: 3 to 6 times slower sampling on a busy machine of two cores. Polling for a moment
 * is 10 % faster than sleeping where nothing else runs.
 */
function waiting(alone: boolean) {
  return { intra_op: alone ? { spin_duration_us: '50' } : { allow_spinning: '0' } };
}

function createProgram(ort: typeof Ort, session: Ort.InferenceSession): Program {
  const names = session.outputNames;
  return {
    run: async (feeds: Tensors): Promise<Tensors> => {
      const results = await session.run(mapTensors(ort, feeds));
      return Object.fromEntries(names.map((name) => [name, fromOrt(results[name], name)]));
    },
    [Symbol.asyncDispose]: () => session.release(),
  };
}

function mapTensors(ort: typeof Ort, tensors: Tensors): Record<string, Ort.Tensor> {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [name, toOrt(ort, tensor)]),
  );
}

function toOrt(ort: typeof Ort, { dims, data }: Tensor): Ort.Tensor {
  if (data instanceof Float32Array) return new ort.Tensor('float32', data, dims);
  if (data instanceof Int32Array) return new ort.Tensor('int32', data, dims);
  if (data instanceof BigInt64Array) return new ort.Tensor('int64', data, dims);
  throw new Error('onnxruntime runs in single precision only');
}

function fromOrt(value: Ort.OnnxValue | undefined, name: string): Tensor {
  if (value === undefined || !('data' in value)) throw new Error(`no result ${name}`);
  const { data, dims } = value;
  if (!isTensorData(data)) throw new Error(`result ${name} has type ${value.type}`);
  return { dims, data };
}

function isTensorData(data: unknown): data is TensorData {
  return (
    data instanceof Float32Array || data instanceof Int32Array || data instanceof BigInt64Array
  );
}
