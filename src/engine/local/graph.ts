/** The intermediate representation: a list of ONNX operations over named values with known shapes, which any executor can run. */

/** A string is a size known only when the program runs (`batch`, `tokens`, …). */
export type Dim = number | string;
export type Shape = readonly Dim[];
export type DType = 'f32' | 'i32' | 'i64' | 'bool';

export interface Value {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
}

export type Attribute = number | string | readonly number[];
export type Attributes = Readonly<Record<string, Attribute>>;

export interface Node {
  readonly op: string;
  /** `undefined` is an optional input that is left out. */
  readonly inputs: readonly (Value | undefined)[];
  readonly outputs: readonly Value[];
  readonly attributes: Attributes;
}

export type ConstantData = Float32Array | Float64Array | BigInt64Array;

export interface Constant {
  readonly value: Value;
  readonly data: ConstantData;
}

export interface Operation {
  readonly op: string;
  readonly inputs: readonly (Value | undefined)[];
  readonly attributes?: Attributes;
}

export interface Described {
  readonly shape: Shape;
  readonly dtype?: DType;
}

export class Graph {
  readonly inputs: Value[] = [];
  readonly constants: Constant[] = [];
  readonly nodes: Node[] = [];
  readonly outputs: Value[] = [];
  #count = 0;
  readonly #computed = new Set<Value>();
  readonly #renamed = new Map<Value, string>();
  readonly #shared = new Map<string, Value>();

  input(name: string, shape: Shape, dtype: DType = 'f32'): Value {
    const value: Value = { name, dtype, shape };
    this.inputs.push(value);
    return value;
  }

  /** Makes a value a result under a public name. What a node computes is renamed; the rest is copied. */
  output(name: string, value: Value): void {
    const named: Value = { ...value, name };
    if (this.#computed.has(value) && !this.#renamed.has(value)) {
      this.#renamed.set(value, name);
    } else {
      this.nodes.push({ op: 'Identity', inputs: [value], outputs: [named], attributes: {} });
    }
    this.outputs.push(named);
  }

  /** The name of a value in the finished graph. */
  nameOf(value: Value): string {
    return this.#renamed.get(value) ?? value.name;
  }

  scalar(value: number): Value {
    return this.#constant(`scalar ${value}`, Float32Array.of(value), []);
  }

  floats(values: readonly number[], shape: Shape): Value {
    return this.#constant(`${values.join()} ${shape.join()}`, Float32Array.from(values), shape);
  }

  /** A large constant, not shared. */
  table(data: ConstantData, shape: Shape): Value {
    const value: Value = { name: `constant_${this.constants.length}`, dtype: 'f32', shape };
    this.constants.push({ value, data });
    return value;
  }

  /** Shapes and axes, which ONNX wants as int64. */
  integers(values: readonly number[]): Value {
    const data = BigInt64Array.from(values, BigInt);
    return this.#constant(`integers ${values.join()}`, data, [values.length]);
  }

  node(operation: Operation, described: Described): Value {
    const [value] = this.multi(operation, [described]);
    if (value === undefined) throw new Error(`${operation.op} has no output`);
    return value;
  }

  /** An operation with several results. */
  multi(operation: Operation, described: readonly Described[]): Value[] {
    const outputs = described.map(({ shape, dtype = 'f32' }): Value => {
      this.#count += 1;
      return { name: `${operation.op}_${this.#count}`, dtype, shape };
    });
    const { op, inputs, attributes = {} } = operation;
    this.nodes.push({ op, inputs, outputs, attributes });
    for (const output of outputs) this.#computed.add(output);
    return outputs;
  }

  /** Drops nodes and constants that no output needs (gradients of things that are only fed). */
  prune(): void {
    const needed = new Set(this.outputs.map(({ name }) => name));
    const kept = this.nodes.toReversed().filter((node) => {
      if (!node.outputs.some((value) => needed.has(this.nameOf(value)))) return false;
      for (const value of node.inputs) if (value !== undefined) needed.add(this.nameOf(value));
      return true;
    });
    this.nodes.splice(0, this.nodes.length, ...kept.reverse());
    const constants = this.constants.filter(({ value }) => needed.has(value.name));
    this.constants.splice(0, this.constants.length, ...constants);
  }

  #constant(key: string, data: ConstantData, shape: Shape): Value {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const dtype: DType = data instanceof BigInt64Array ? 'i64' : 'f32';
    const value: Value = { name: `constant_${this.constants.length}`, dtype, shape };
    this.constants.push({ value, data });
    this.#shared.set(key, value);
    return value;
  }
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, axis) => dim === b[axis]);
}

/** numpy broadcasting; a symbolic size only meets itself or 1. */
export function broadcastShape(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis): Dim => {
    const left = a[a.length - rank + axis] ?? 1;
    const right = b[b.length - rank + axis] ?? 1;
    if (left === right || right === 1) return left;
    if (left === 1) return right;
    throw new Error(`shapes [${a}] and [${b}] do not broadcast`);
  });
}

export function dimAt(value: Value, axis: number): Dim {
  const dim = value.shape.at(axis);
  if (dim === undefined) throw new Error(`${value.name} [${value.shape}] has no axis ${axis}`);
  return dim;
}
