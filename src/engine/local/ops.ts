/** Differentiable elementwise operations, products and layout changes, each with its backward rule. */
import { binary, reshapeTo, sumOver, type Tape, unary, unbroadcast } from './autodiff.ts';
import { type Dim, dimAt, type Shape, type Value } from './graph.ts';

export function add(tape: Tape, a: Value, b: Value): Value {
  return tape.recordUnary(binary(tape, 'Add', [a, b]), [a, b], (gradient) => [
    unbroadcast(tape, gradient, a.shape),
    unbroadcast(tape, gradient, b.shape),
  ]);
}

export function subtract(tape: Tape, a: Value, b: Value): Value {
  return tape.recordUnary(binary(tape, 'Sub', [a, b]), [a, b], (gradient) => [
    unbroadcast(tape, gradient, a.shape),
    unbroadcast(tape, unary(tape, 'Neg', gradient), b.shape),
  ]);
}

export function multiply(tape: Tape, a: Value, b: Value): Value {
  return tape.recordUnary(binary(tape, 'Mul', [a, b]), [a, b], (gradient) => [
    unbroadcast(tape, binary(tape, 'Mul', [gradient, b]), a.shape),
    unbroadcast(tape, binary(tape, 'Mul', [gradient, a]), b.shape),
  ]);
}

export function exponential(tape: Tape, x: Value): Value {
  const y = unary(tape, 'Exp', x);
  return tape.recordUnary(y, [x], (gradient) => [binary(tape, 'Mul', [gradient, y])]);
}

export function logarithm(tape: Tape, x: Value): Value {
  const y = unary(tape, 'Log', x);
  return tape.recordUnary(y, [x], (gradient) => [binary(tape, 'Div', [gradient, x])]);
}

export function negate(tape: Tape, x: Value): Value {
  const y = unary(tape, 'Neg', x);
  return tape.recordUnary(y, [x], (gradient) => [unary(tape, 'Neg', gradient)]);
}

/** The smaller of two; where they are equal the gradient goes to `a`. */
export function minimum(tape: Tape, a: Value, b: Value): Value {
  return select(tape, { op: 'Min', chosen: 'LessOrEqual', a, b });
}

/** The larger of two; where they are equal the gradient goes to `a`. */
export function maximum(tape: Tape, a: Value, b: Value): Value {
  return select(tape, { op: 'Max', chosen: 'GreaterOrEqual', a, b });
}

interface Selection {
  readonly op: 'Min' | 'Max';
  readonly chosen: 'LessOrEqual' | 'GreaterOrEqual';
  readonly a: Value;
  readonly b: Value;
}

function select(tape: Tape, { op, chosen, a, b }: Selection): Value {
  const { graph } = tape;
  const y = binary(tape, op, [a, b]);
  return tape.recordUnary(y, [a, b], (gradient) => {
    const condition = graph.node({ op: chosen, inputs: [a, b] }, { shape: y.shape, dtype: 'bool' });
    const pick = (taken: Value, refused: Value): Value =>
      graph.node({ op: 'Where', inputs: [condition, taken, refused] }, { shape: y.shape });
    const nothing = graph.scalar(0);
    return [
      unbroadcast(tape, pick(gradient, nothing), a.shape),
      unbroadcast(tape, pick(nothing, gradient), b.shape),
    ];
  });
}

/** Sums over the last axis, which disappears. */
export function sumLast(tape: Tape, x: Value): Value {
  const y = sumOver(tape, x, { axes: [x.shape.length - 1], keep: false });
  return tape.recordUnary(y, [x], (gradient) => {
    const column = reshapeTo(tape, gradient, [...gradient.shape, 1]);
    const ones = tape.graph.node(
      { op: 'Shape', inputs: [x] },
      { shape: [x.shape.length], dtype: 'i64' },
    );
    return [tape.graph.node({ op: 'Expand', inputs: [column, ones] }, { shape: x.shape })];
  });
}

/** Σ of the products of two vectors, a scalar. */
export function dot(tape: Tape, a: Value, b: Value): Value {
  return sumLast(tape, multiply(tape, a, b));
}

/** x[n,k] · weight[m,k]ᵀ (+ residual[n,m]): weights as Hugging Face stores them, the residual added inside the product. */
export function linear(tape: Tape, x: Value, { weight, residual }: LinearOperands): Value {
  const { graph } = tape;
  const shape: Shape = [dimAt(x, 0), dimAt(weight, 0)];
  const forward = residual === undefined ? [x, weight] : [x, weight, residual];
  const y = graph.node({ op: 'Gemm', inputs: forward, attributes: { transB: 1 } }, { shape });
  tape.record({
    outputs: [y],
    inputs: forward,
    rule: ({ gradients, soFar }) => {
      const [gradient] = gradients;
      if (gradient === undefined) return [];
      const toX = graph.node(
        { op: 'Gemm', inputs: withSum([gradient, weight], soFar(0)) },
        { shape: x.shape },
      );
      const toWeight = graph.node(
        {
          op: 'Gemm',
          inputs: withSum([gradient, x], soFar(1)),
          attributes: { transA: 1 },
        },
        { shape: weight.shape },
      );
      return [{ total: toX }, { total: toWeight }, gradient];
    },
  });
  return y;
}

export interface LinearOperands {
  readonly weight: Value;
  readonly residual?: Value;
}

function withSum(factors: readonly Value[], sum: Value | undefined): readonly Value[] {
  return sum === undefined ? factors : [...factors, sum];
}

export interface Transposes {
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly alpha?: number;
}

/** Batched product over the two last axes, not recorded. */
export function fusedProduct(
  tape: Tape,
  [a, b]: readonly [Value, Value],
  { transA = false, transB = false, alpha = 1 }: Transposes,
): Value {
  const rows = dimAt(a, transA ? -1 : -2);
  const columns = dimAt(b, transB ? -2 : -1);
  return tape.graph.node(
    {
      op: 'FusedMatMul',
      inputs: [a, b],
      attributes: { transA: transA ? 1 : 0, transB: transB ? 1 : 0, alpha },
    },
    { shape: [...a.shape.slice(0, -2), rows, columns] },
  );
}

/** Sizes are inferred, or given at run time: `sizes` is the target as an int64 vector, `back` the same for the gradient. */
export function reshape(tape: Tape, x: Value, { shape, sizes, back }: Reshaping): Value {
  const to = (value: Value, target: Shape, given: Value | undefined): Value =>
    given === undefined
      ? reshapeTo(tape, value, target)
      : tape.graph.node({ op: 'Reshape', inputs: [value, given] }, { shape: target });
  return tape.recordUnary(to(x, shape, sizes), [x], (gradient) => [to(gradient, x.shape, back)]);
}

export interface Reshaping {
  readonly shape: Shape;
  readonly sizes?: Value;
  readonly back?: Value;
}

export function transpose(tape: Tape, x: Value, order: readonly number[]): Value {
  const inverse = order.map((_, axis) => order.indexOf(axis));
  const node = (value: Value, perm: readonly number[]): Value =>
    tape.graph.node(
      { op: 'Transpose', inputs: [value], attributes: { perm } },
      { shape: perm.map((axis): Dim => dimAt(value, axis)) },
    );
  return tape.recordUnary(node(x, order), [x], (gradient) => [node(gradient, inverse)]);
}

/** Equal parts along an axis; `size` names that of a part where it is only known at run time. */
export function splitEqually(tape: Tape, x: Value, { axis, parts, size }: EqualParts): Value[] {
  const shape = x.shape.map((dim, index) => (index === axis ? size : dim));
  const outputs = tape.graph.multi(
    { op: 'Split', inputs: [x], attributes: { axis, num_outputs: parts } },
    Array.from({ length: parts }, () => ({ shape })),
  );
  tape.record({
    outputs,
    inputs: [x],
    rule: ({ gradients }) => {
      const all = gradients.filter((gradient) => gradient !== undefined);
      if (all.length < parts) throw new Error('every part must take part in the loss');
      return [joined(tape, all, { axis, size: dimAt(x, axis) })];
    },
  });
  return outputs;
}

export interface EqualParts {
  readonly axis: number;
  readonly parts: number;
  readonly size: Dim;
}

/** Equal parts put together along an axis; `size` is that of the whole. */
export function concatenate(tape: Tape, parts: readonly Value[], { axis, size }: Whole): Value {
  const [first] = parts;
  if (first === undefined) throw new Error('nothing to concatenate');
  return tape.recordUnary(joined(tape, parts, { axis, size }), parts, (gradient) =>
    tape.graph.multi(
      { op: 'Split', inputs: [gradient], attributes: { axis, num_outputs: parts.length } },
      parts.map(({ shape }) => ({ shape })),
    ),
  );
}

export interface Whole {
  readonly axis: number;
  readonly size: Dim;
}

function joined(tape: Tape, parts: readonly Value[], { axis, size }: Whole): Value {
  const shape = parts[0]?.shape.map((dim, index) => (index === axis ? size : dim)) ?? [];
  return tape.graph.node({ op: 'Concat', inputs: parts, attributes: { axis } }, { shape });
}

/**
 * Rows of x[n,d] at `rows[r]`, which are distinct where a gradient arrives. The way back is a gather too
 * (`inverse[n]`: which row of the result, or r for none): exact and deterministic, which a scatter is not.
 */
export function selectRows(tape: Tape, x: Value, { rows, inverse }: RowSelection): Value {
  const { graph } = tape;
  const width = dimAt(x, 1);
  const gather = (from: Value, indices: Value): Value =>
    graph.node(
      { op: 'Gather', inputs: [from, indices], attributes: { axis: 0 } },
      { shape: [dimAt(indices, 0), width] },
    );
  return tape.recordUnary(gather(x, rows), [x], (gradient) => {
    const none = graph.floats(Array<number>(Number(width)).fill(0), [1, width]);
    const padded = graph.node(
      { op: 'Concat', inputs: [gradient, none], attributes: { axis: 0 } },
      { shape: [`${dimAt(gradient, 0)}+1`, width] },
    );
    return [gather(padded, inverse)];
  });
}

export interface RowSelection {
  readonly rows: Value;
  readonly inverse: Value;
}
