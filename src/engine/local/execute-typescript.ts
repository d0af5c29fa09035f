/** Runs graphs in plain TypeScript: the oracle of the tests and the fallback where no native runtime loads. */
import type { Executor, FloatArray, Program, Tensor, Tensors } from './executor.ts';
import type { Graph, Node } from './graph.ts';
import type { Kernel } from './kernels.ts';
import { elementwiseKernels } from './kernels-elementwise.ts';
import { layoutKernels } from './kernels-layout.ts';
import { productKernels } from './kernels-products.ts';
import { rotaryKernels } from './kernels-rotary.ts';
import { rowKernels } from './kernels-rows.ts';

const KERNELS: Readonly<Record<string, Kernel>> = {
  ...rotaryKernels,
  ...elementwiseKernels,
  ...layoutKernels,
  ...productKernels,
  ...rowKernels,
};

export interface TypescriptOptions {
  /** Double precision is for finite differences. */
  readonly precision: 'single' | 'double';
}

export function createTypescriptExecutor({ precision }: TypescriptOptions): Executor {
  const allocate = (length: number): FloatArray =>
    precision === 'single' ? new Float32Array(length) : new Float64Array(length);
  return {
    name: 'typescript',
    compile: async (graph: Graph): Promise<Program> => {
      const lastUse = lastUses(graph);
      return {
        run: async (feeds) => execute({ graph, lastUse, allocate }, feeds),
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
  };
}

interface Compiled {
  readonly graph: Graph;
  readonly lastUse: ReadonlyMap<string, number>;
  allocate(length: number): FloatArray;
}

function lastUses(graph: Graph): Map<string, number> {
  const last = new Map<string, number>();
  for (const [index, node] of graph.nodes.entries()) {
    for (const value of node.inputs) if (value !== undefined) last.set(graph.nameOf(value), index);
  }
  for (const { name } of graph.outputs) last.delete(name);
  return last;
}

function execute(compiled: Compiled, feeds: Tensors): Tensors {
  const { graph, lastUse } = compiled;
  const values = new Map<string, Tensor>(Object.entries(feeds));
  for (const { value, data } of graph.constants) {
    values.set(value.name, { dims: value.shape.map(Number), data });
  }
  for (const [index, node] of graph.nodes.entries()) {
    runNode(compiled, node, values);
    for (const value of node.inputs) {
      const name = value === undefined ? '' : graph.nameOf(value);
      if (lastUse.get(name) === index) values.delete(name);
    }
  }
  return Object.fromEntries(
    graph.outputs.map(({ name }) => {
      const result = values.get(name);
      if (result === undefined) throw new Error(`no result ${name}`);
      return [name, result];
    }),
  );
}

function runNode({ graph, allocate }: Compiled, node: Node, values: Map<string, Tensor>): void {
  const inputs = node.inputs.map((value) =>
    value === undefined ? undefined : known(values, graph.nameOf(value), node),
  );
  const kernel = KERNELS[node.op];
  if (kernel === undefined) throw new Error(`no TypeScript kernel for ${node.op}`);
  const results = kernel({ inputs, attributes: node.attributes, allocate });
  for (const [position, output] of node.outputs.entries()) {
    const result = results[position];
    if (result === undefined) throw new Error(`${node.op} gave no output ${position}`);
    values.set(graph.nameOf(output), result);
  }
}

function known(values: ReadonlyMap<string, Tensor>, name: string, node: Node): Tensor {
  const tensor = values.get(name);
  if (tensor === undefined) throw new Error(`${node.op} needs ${name}, which was not fed`);
  return tensor;
}
