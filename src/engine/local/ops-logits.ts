/** Log-probabilities of chosen tokens and entropy from logits, with gradients that touch the vocabulary axis as rarely as can be. */
import { binary, sumOver, type Tape, unary } from './autodiff.ts';
import { dimAt, type Value } from './graph.ts';

/** log softmax over the vocabulary, its exponential shared by everything that needs it. */
export interface LogSoftmax {
  readonly logits: Value;
  readonly logProbabilities: Value;
  probabilities(): Value;
}

export function logSoftmax(tape: Tape, logits: Value): LogSoftmax {
  const logProbabilities = tape.graph.node(
    { op: 'LogSoftmax', inputs: [logits], attributes: { axis: -1 } },
    { shape: logits.shape },
  );
  let exponential: Value | undefined;
  const probabilities = (): Value => {
    exponential ??= unary(tape, 'Exp', logProbabilities);
    return exponential;
  };
  return { logits, logProbabilities, probabilities };
}

/** log p of the tokens `ids[r, k]`, distinct within a row, as [r, k]. */
export function pick(tape: Tape, softmax: LogSoftmax, ids: Value): Value {
  const { graph } = tape;
  const picked = graph.node(
    {
      op: 'GatherElements',
      inputs: [softmax.logProbabilities, ids],
      attributes: { axis: 1 },
    },
    { shape: ids.shape },
  );
  return tape.recordUnary(picked, [softmax.logits], (gradient) => {
    const mass = unary(tape, 'Neg', sumOver(tape, gradient, { axes: [1], keep: true }));
    const spread = binary(tape, 'Mul', [softmax.probabilities(), mass]);
    // This kernel is not parallel, and it writes into the array it is given: exact, and nothing is copied.
    return [
      graph.node(
        {
          op: 'ScatterElements',
          inputs: [spread, ids, gradient],
          attributes: { axis: 1, reduction: 'add' },
        },
        { shape: spread.shape },
      ),
    ];
  });
}

/** Entropy of each row in nats, as [r]. */
export function entropy(tape: Tape, softmax: LogSoftmax): Value {
  const { logProbabilities, logits } = softmax;
  const terms = binary(tape, 'Mul', [softmax.probabilities(), logProbabilities]);
  const negative = sumOver(tape, terms, { axes: [1], keep: true });
  const column = unary(tape, 'Neg', negative);
  const rows = tape.graph.node(
    { op: 'Reshape', inputs: [column, tape.graph.integers([-1])] },
    { shape: [dimAt(logits, 0)] },
  );
  return tape.recordUnary(rows, [logits], (gradient) => {
    const weight = tape.graph.node(
      { op: 'Reshape', inputs: [gradient, tape.graph.integers([-1, 1])] },
      { shape: [dimAt(logits, 0), 1] },
    );
    // dH/dlogits = −p (log p + H)
    const surprise = binary(tape, 'Sub', [negative, logProbabilities]);
    const slope = binary(tape, 'Mul', [softmax.probabilities(), surprise]);
    return [binary(tape, 'Mul', [slope, weight])];
  });
}
