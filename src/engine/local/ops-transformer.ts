/** The pieces of a Llama block as differentiable operations with hand-made backward rules: fewer passes over memory. */
import { binary, sumOver, type Tape, unary } from './autodiff.ts';
import { dimAt, type Value } from './graph.ts';
import { fusedProduct } from './ops.ts';

/** x / rms(x) over the last axis, without a scale: the scale is folded into the weights that follow. */
export function rmsNorm(tape: Tape, x: Value, epsilon: number): Value {
  const { graph } = tape;
  const width = Number(dimAt(x, -1));
  const one = graph.floats(Array<number>(width).fill(1), [width]);
  const perRow = { shape: [...x.shape.slice(0, -1), 1] };
  const [y, inverse] = graph.multi(
    {
      op: 'SimplifiedLayerNormalization',
      inputs: [x, one],
      attributes: { axis: -1, epsilon, stash_type: 1 },
    },
    [{ shape: x.shape }, perRow],
  );
  if (y === undefined || inverse === undefined) throw new Error('normalisation has two outputs');
  return tape.recordUnary(y, [x], (gradient) => {
    const aligned = binary(tape, 'Mul', [gradient, y]);
    const mean = graph.node(
      {
        op: 'ReduceMean',
        inputs: [aligned, graph.integers([-1])],
        attributes: { keepdims: 1 },
      },
      perRow,
    );
    const radial = binary(tape, 'Mul', [y, mean]);
    return [binary(tape, 'Mul', [binary(tape, 'Sub', [gradient, radial]), inverse])];
  });
}

export interface Rotation {
  readonly cos: Value;
  readonly sin: Value;
  readonly minusSin: Value;
}

/** Rotary positions 0, 1, … on x[batch, length, heads · headDim], halves convention. Its transpose is the opposite turn. */
export function rotate(tape: Tape, x: Value, { cos, sin, minusSin }: Rotation): Value {
  const { graph } = tape;
  const turn = (value: Value, sine: Value): Value =>
    graph.node(
      {
        op: 'RotaryEmbedding',
        inputs: [value, graph.integers([0]), cos, sine],
        attributes: { interleaved: 0 },
      },
      { shape: x.shape },
    );
  return tape.recordUnary(turn(x, sin), [x], (gradient) => [turn(gradient, minusSin)]);
}

export interface AttentionOperands {
  /** [batch, heads, rows, headDim]; rows may hold several query heads of one key head below each other. */
  readonly query: Value;
  readonly key: Value;
  readonly value: Value;
  /** Added to the scores: 0 where visible, very negative elsewhere. */
  readonly mask: Value;
}

/** softmax(q·kᵀ/√d + mask)·v. Backward uses Σ p·dp = Σ o·do, which spares a pass over the score matrix. */
export function attention(tape: Tape, operands: AttentionOperands): Value {
  const { query, key, value, mask } = operands;
  const { graph } = tape;
  const alpha = 1 / Math.sqrt(Number(dimAt(query, -1)));
  const scores = fusedProduct(tape, [query, key], { transB: true, alpha });
  const masked = binary(tape, 'Add', [scores, mask]);
  const share = graph.node(
    { op: 'Softmax', inputs: [masked], attributes: { axis: -1 } },
    { shape: scores.shape },
  );
  const output = fusedProduct(tape, [share, value], {});
  return tape.recordUnary(output, [query, key, value], (gradient) => {
    const last = output.shape.length - 1;
    const radial = sumOver(tape, binary(tape, 'Mul', [gradient, output]), {
      axes: [last],
      keep: true,
    });
    const toShare = fusedProduct(tape, [gradient, value], { transB: true });
    const toScores = binary(tape, 'Mul', [binary(tape, 'Sub', [toShare, radial]), share]);
    return [
      fusedProduct(tape, [toScores, key], { alpha }),
      fusedProduct(tape, [toScores, query], { transA: true, alpha }),
      fusedProduct(tape, [share, gradient], { transA: true }),
    ];
  });
}

/** silu(gate) · up. */
export function swiglu(tape: Tape, gate: Value, up: Value): Value {
  const sigmoid = unary(tape, 'Sigmoid', gate);
  const silu = binary(tape, 'Mul', [gate, sigmoid]);
  const output = binary(tape, 'Mul', [silu, up]);
  return tape.recordUnary(output, [gate, up], (gradient) => {
    // silu' = σ + silu·(1 − σ)
    const rest = binary(tape, 'Sub', [tape.graph.scalar(1), sigmoid]);
    const slope = binary(tape, 'Add', [sigmoid, binary(tape, 'Mul', [silu, rest])]);
    const toSilu = binary(tape, 'Mul', [gradient, up]);
    return [binary(tape, 'Mul', [toSilu, slope]), binary(tape, 'Mul', [gradient, silu])];
  });
}
