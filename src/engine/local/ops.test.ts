import { describe, expect, test } from 'vitest';
import {
  add,
  exponential,
  linear,
  logarithm,
  maximum,
  minimum,
  multiply,
  negate,
  reshape,
  selectRows,
  subtract,
  sumLast,
  transpose,
} from './ops.ts';
import { entropy, logSoftmax, pick } from './ops-logits.ts';
import { attention, rmsNorm, rotate, swiglu } from './ops-transformer.ts';
import { gradientError, randomTensor } from './testing.ts';

const TOLERANCE = 1e-7;
const a = () => randomTensor('a', [3, 4]);
const b = () => randomTensor('b', [3, 4]);
const row = () => randomTensor('row', [4]);

describe('the gradient of every operation equals central differences', () => {
  test('add, subtract and multiply, with broadcasting', async () => {
    for (const operation of [add, subtract, multiply]) {
      const same = await gradientError({ a: a(), b: b() }, (tape, v) =>
        operation(tape, need(v, 'a'), need(v, 'b')),
      );
      const broadcast = await gradientError({ a: a(), b: row() }, (tape, v) =>
        operation(tape, need(v, 'b'), need(v, 'a')),
      );
      expect(Math.max(same, broadcast)).toBeLessThan(TOLERANCE);
    }
  });

  test('one value used twice gathers both gradients', async () => {
    const error = await gradientError({ a: a() }, (tape, v) =>
      multiply(tape, need(v, 'a'), exponential(tape, need(v, 'a'))),
    );
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('exponential, logarithm, negate, sum over the last axis', async () => {
    const positive = randomTensor('positive', [3, 4], [0.5, 2]);
    for (const operation of [exponential, logarithm, negate, sumLast]) {
      const error = await gradientError({ x: positive }, (tape, v) =>
        operation(tape, need(v, 'x')),
      );
      expect(error).toBeLessThan(TOLERANCE);
    }
  });

  test('minimum and maximum', async () => {
    for (const operation of [minimum, maximum]) {
      const error = await gradientError({ a: a(), b: b() }, (tape, v) =>
        operation(tape, need(v, 'a'), need(v, 'b')),
      );
      expect(error).toBeLessThan(TOLERANCE);
    }
  });

  test('linear with a residual, its input used by two products', async () => {
    const inputs = {
      x: a(),
      w: randomTensor('w', [5, 4]),
      u: randomTensor('u', [5, 4]),
      residual: randomTensor('residual', [3, 5]),
    };
    const error = await gradientError(inputs, (tape, v) => {
      const first = linear(tape, need(v, 'x'), {
        weight: need(v, 'w'),
        residual: need(v, 'residual'),
      });
      return multiply(tape, first, linear(tape, need(v, 'x'), { weight: need(v, 'u') }));
    });
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('reshape and transpose', async () => {
    const error = await gradientError({ x: randomTensor('x', [2, 3, 4]) }, (tape, v) =>
      transpose(tape, reshape(tape, need(v, 'x'), { shape: [3, 2, 4] }), [2, 0, 1]),
    );
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('selection of rows', async () => {
    const feeds = {
      rows: { dims: [2], data: Int32Array.of(2, 0) },
      inverse: { dims: [3], data: Int32Array.of(1, 2, 0) },
    };
    const error = await gradientError(
      { x: a() },
      (tape, v) =>
        selectRows(tape, need(v, 'x'), {
          rows: tape.graph.input('rows', [2], 'i32'),
          inverse: tape.graph.input('inverse', [3], 'i32'),
        }),
      feeds,
    );
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('RMS norm', async () => {
    const error = await gradientError({ x: a() }, (tape, v) => rmsNorm(tape, need(v, 'x'), 1e-5));
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('SwiGLU', async () => {
    const error = await gradientError({ a: a(), b: b() }, (tape, v) =>
      swiglu(tape, need(v, 'a'), need(v, 'b')),
    );
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('rotary positions', async () => {
    const sine = Float64Array.of(0.1, -0.4, 0.7, 0.2, -0.9, 0.3);
    const opposite = { dims: [3, 2], data: sine.map((value) => -value) };
    const error = await gradientError(
      { x: randomTensor('x', [2, 3, 8]) },
      (tape, v) =>
        rotate(tape, need(v, 'x'), {
          cos: tape.graph.input('cos', [3, 2]),
          sin: tape.graph.input('sin', [3, 2]),
          minusSin: tape.graph.input('minusSin', [3, 2]),
        }),
      { cos: randomTensor('cos', [3, 2]), sin: { dims: [3, 2], data: sine }, minusSin: opposite },
    );
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('causal attention', async () => {
    const inputs = {
      query: randomTensor('query', [1, 2, 3, 4]),
      key: randomTensor('key', [1, 2, 3, 4]),
      value: randomTensor('value', [1, 2, 3, 4]),
    };
    const hidden = -1e9;
    const mask = Float64Array.of(0, hidden, hidden, 0, 0, hidden, 0, 0, 0);
    const error = await gradientError(
      inputs,
      (tape, v) =>
        attention(tape, {
          query: need(v, 'query'),
          key: need(v, 'key'),
          value: need(v, 'value'),
          mask: tape.graph.input('mask', [3, 3]),
        }),
      { mask: { dims: [3, 3], data: mask } },
    );
    expect(error).toBeLessThan(TOLERANCE);
  });

  test('log-probabilities of chosen tokens, and entropy', async () => {
    const ids = { dims: [3, 2], data: Int32Array.of(0, 3, 2, 1, 1, 0) };
    const picked = await gradientError(
      { logits: a() },
      (tape, v) =>
        pick(tape, logSoftmax(tape, need(v, 'logits')), tape.graph.input('ids', [3, 2], 'i32')),
      { ids },
    );
    const spread = await gradientError({ logits: a() }, (tape, v) =>
      entropy(tape, logSoftmax(tape, need(v, 'logits'))),
    );
    expect(Math.max(picked, spread)).toBeLessThan(TOLERANCE);
  });
});

function need<T>(values: Readonly<Record<string, T>>, name: string): T {
  const value = values[name];
  if (value === undefined) throw new Error(`no value ${name}`);
  return value;
}
