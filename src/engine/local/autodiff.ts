/** Reverse-mode differentiation that emits ordinary graph nodes, so that an inference runtime also runs the backward pass. */
import { broadcastShape, type Dim, Graph, type Shape, sameShape, type Value } from './graph.ts';

/** What a rule hands back for one input: a share of its gradient, or the whole sum when the rule added the rest itself. */
export type Contribution = Value | { readonly total: Value } | undefined;

export interface Incoming {
  /** Gradient of each output; `undefined` where nothing depends on it. */
  readonly gradients: readonly (Value | undefined)[];
  /** Gradient gathered so far on input i, for rules that can add to it without a node of its own. */
  soFar(input: number): Value | undefined;
}

export type BackwardRule = (incoming: Incoming) => readonly Contribution[];

interface TapeEntry {
  readonly outputs: readonly Value[];
  readonly inputs: readonly Value[];
  readonly rule: BackwardRule;
}

export class Tape {
  readonly graph = new Graph();
  readonly #entries: TapeEntry[] = [];

  record(entry: TapeEntry): void {
    this.#entries.push(entry);
  }

  /** A single-output operation whose rule needs only the gradient of that output. */
  recordUnary(
    output: Value,
    inputs: readonly Value[],
    rule: (gradient: Value) => readonly Contribution[],
  ): Value {
    this.record({
      outputs: [output],
      inputs,
      rule: ({ gradients }) => rule(present(gradients[0], output)),
    });
    return output;
  }

  /** Gradients of the scalar `loss` with respect to every value it depends on. */
  backward(loss: Value): ReadonlyMap<Value, Value> {
    const gradients = new Map<Value, Value>([[loss, this.graph.scalar(1)]]);
    for (const { outputs, inputs, rule } of [...this.#entries].reverse()) {
      const incoming = outputs.map((output) => gradients.get(output));
      if (incoming.every((gradient) => gradient === undefined)) continue;
      const soFar = (index: number): Value | undefined => {
        const input = inputs[index];
        return input === undefined ? undefined : gradients.get(input);
      };
      const contributions = rule({ gradients: incoming, soFar });
      for (const [index, input] of inputs.entries()) {
        const sum = this.#accumulate(gradients.get(input), contributions[index]);
        if (sum !== undefined) gradients.set(input, sum);
      }
    }
    return gradients;
  }

  #accumulate(known: Value | undefined, contribution: Contribution): Value | undefined {
    if (contribution === undefined) return known;
    if ('total' in contribution) return contribution.total;
    return known === undefined ? contribution : binary(this, 'Add', [known, contribution]);
  }
}

function present(gradient: Value | undefined, output: Value): Value {
  if (gradient === undefined) throw new Error(`no gradient reached ${output.name}`);
  return gradient;
}

/** A broadcasting elementwise node, not recorded. */
export function binary(tape: Tape, op: string, [a, b]: readonly [Value, Value]): Value {
  return tape.graph.node({ op, inputs: [a, b] }, { shape: broadcastShape(a.shape, b.shape) });
}

/** An elementwise node, not recorded. */
export function unary(tape: Tape, op: string, x: Value): Value {
  return tape.graph.node({ op, inputs: [x] }, { shape: x.shape });
}

/** Sums over axes, keeping them as 1 or dropping them; not recorded. */
export function sumOver(
  tape: Tape,
  x: Value,
  { axes, keep }: { readonly axes: readonly number[]; readonly keep: boolean },
): Value {
  const shape = keep
    ? x.shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim))
    : x.shape.filter((_, axis) => !axes.includes(axis));
  return tape.graph.node(
    {
      op: 'ReduceSum',
      inputs: [x, tape.graph.integers(axes)],
      attributes: { keepdims: keep ? 1 : 0 },
    },
    { shape },
  );
}

/** Undoes broadcasting: sums a gradient down to the shape of the operand it belongs to. */
export function unbroadcast(tape: Tape, gradient: Value, shape: Shape): Value {
  if (sameShape(gradient.shape, shape)) return gradient;
  const lead = gradient.shape.length - shape.length;
  const axes = gradient.shape.flatMap((dim: Dim, axis) => {
    const repeated = axis < lead || (shape[axis - lead] === 1 && dim !== 1);
    return repeated ? [axis] : [];
  });
  const summed = sumOver(tape, gradient, { axes, keep: false });
  return sameShape(summed.shape, shape) ? summed : reshapeTo(tape, summed, shape);
}

/** A Reshape node, not recorded. A symbolic size that stands at the same axis is copied; one other may be inferred. */
export function reshapeTo(tape: Tape, x: Value, shape: Shape): Value {
  const target = tape.graph.integers(staticTarget(x.shape, shape));
  return tape.graph.node({ op: 'Reshape', inputs: [x, target] }, { shape });
}

function staticTarget(from: Shape, to: Shape): number[] {
  let inferred = 0;
  const target = to.map((dim, axis) => {
    if (typeof dim === 'number') return dim;
    if (from[axis] === dim) return 0;
    inferred += 1;
    return -1;
  });
  if (inferred > 1) throw new Error(`cannot infer [${to}] from [${from}]`);
  return target;
}
