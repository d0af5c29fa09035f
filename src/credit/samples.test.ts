/** From advantages to training rows: one vote a chunk, exact tokens, and no silent broadcast. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Call, CreditedRollout } from '../core/trace.ts';
import { aCall, aFault, aScoredRollout, aWrite } from '../testing/trace-builders.ts';
import { massSkew, segmentWeights } from './loss-mass.ts';
import { toSamples } from './samples.ts';

const options = { lossMass: 'chunk-mean' } as const;

/** One chunk with these calls and this advantage. */
function credited(calls: Call[], advantage = 1.5): CreditedRollout {
  return {
    ...aScoredRollout([1]),
    writes_T: [aWrite('c0', { calls })],
    advantages_T: [advantage],
  };
}

describe('samples', () => {
  test('every segment of a chunk carries its advantage, with the recorded tokens', () => {
    const { samples } = toSamples([credited([aCall({}, 2), aCall({ id: '1' }, 6)])], options);
    expect(samples.map(({ advantage, weight }) => [advantage, weight])).toEqual([
      [1.5, 0.25],
      [1.5, 0.75],
    ]);
    expect(samples[0]).toMatchObject({
      tokenIds: [1, 2, 3, 10, 11],
      from: 3,
      logprobs_N: [-0.5, -0.5],
    });
  });

  test('splitting or reordering a chunk’s segments changes neither its advantage nor its mass', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(lengths, fc.double({ min: 0.1, max: 3, noNaN: true }), (tokens, advantage) => {
        const calls = tokens.map((length, i) => aCall({ id: String(i) }, length));
        const whole = [
          aCall(
            {},
            tokens.reduce((a, b) => a + b, 0),
          ),
        ];
        for (const variant of [calls, calls.toReversed(), whole]) {
          const { samples } = toSamples([credited(variant, advantage)], options);
          expect(new Set(samples.map((sample) => sample.advantage))).toEqual(new Set([advantage]));
          expect(samples.reduce((mass, { weight }) => mass + weight, 0)).toBeCloseTo(1, 12);
          for (const { weight, logprobs_N } of samples) {
            expect(weight / logprobs_N.length).toBeCloseTo(
              1 / (whole[0]?.segment?.sampledIds.length ?? 0),
              12,
            );
          }
        }
      }),
    );
  });

  test('BR-62: rows are the engine’s own ids; text is never read', () => {
    const call = aCall({ text: 'text that no tokenizer turns into 10, 11' });
    expect(toSamples([credited([call])], options).samples[0]?.tokenIds).toEqual([1, 2, 3, 10, 11]);
  });

  test('calls during retrieval are not trained', () => {
    const { samples } = toSamples(
      [credited([aCall(), aCall({ id: '1', purpose: 'retrieve' })])],
      options,
    );
    expect(samples).toHaveLength(1);
  });

  test('BR-53: a chunk with advantage 0 is in no sample and no denominator', () => {
    const lively = credited([aCall()]);
    const silent = credited([aCall({}, 50)], 0);
    for (const lossMass of ['token', 'segment-mean', 'chunk-mean'] as const) {
      expect(toSamples([lively, silent], { lossMass })).toEqual(toSamples([lively], { lossMass }));
    }
    expect(toSamples([silent], options).samples).toEqual([]);
  });

  test('a call that the platform failed is no action of the policy', () => {
    const failed = aCall({ id: '1', outcome: aFault('upstream') });
    const { samples } = toSamples([credited([aCall(), failed])], options);
    expect(samples).toHaveLength(1);
  });

  test('a faulted rollout is never trained', () => {
    const fault = { ...credited([aCall()]), outcome: aFault('harness'), advantages_T: [] };
    expect(toSamples([fault], options).samples).toEqual([]);
  });
});

describe('silent failure 3: a missing chunk-to-segment map throws by name', () => {
  const name = 'missing chunk-to-segment map: rollout 0 of window w, chunk c0';
  const { segment: _segment, ...bare } = aCall();

  test('a call without its segment', () => {
    expect(() => toSamples([credited([bare])], options)).toThrow(name);
  });

  test('a write without calls', () => {
    expect(() => toSamples([credited([])], options)).toThrow(name);
  });

  test('a segment without tokens, or whose log-probabilities do not match', () => {
    expect(() => toSamples([credited([aCall({}, 0)])], options)).toThrow(name);
    const call = aCall();
    const broken = { ...call, segment: call.segment && { ...call.segment, logprobs: [-1] } };
    expect(() => toSamples([credited([broken])], options)).toThrow('1 log-probabilities');
  });

  test('advantages that do not match the chunks', () => {
    const rollout = { ...credited([aCall()]), advantages_T: [1, 1] };
    expect(() => toSamples([rollout], options)).toThrow('2 advantages for 1 chunks');
  });

  test('but an overflow sampled nothing: counted, not trained', () => {
    const overflow = { ...bare, stopReason: 'overflow' as const };
    expect(toSamples([credited([overflow])], options)).toMatchObject({
      samples: [],
      chunksWithoutTokens: 1,
    });
  });
});

describe('loss mass', () => {
  const chunks = fc.array(
    fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 5 }),
    {
      minLength: 1,
      maxLength: 9,
    },
  );
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

  test('chunk-mean gives each chunk the total weight 1', () => {
    fc.assert(
      fc.property(chunks, (lengths) => {
        for (const weights of segmentWeights(lengths, 'chunk-mean')) {
          expect(sum(weights)).toBeCloseTo(1, 12);
        }
      }),
    );
  });

  test('every mode spreads the same total', () => {
    fc.assert(
      fc.property(chunks, (lengths) => {
        for (const mode of ['token', 'segment-mean', 'chunk-mean'] as const) {
          expect(sum(segmentWeights(lengths, mode).flat())).toBeCloseTo(lengths.length, 9);
        }
      }),
    );
  });

  test('splitting a segment changes neither the chunk’s mass nor a token’s', () => {
    const [whole] = segmentWeights([[6]], 'chunk-mean');
    const [split] = segmentWeights([[2, 4]], 'chunk-mean');
    expect(whole?.[0]).toBeCloseTo(sum(split ?? []), 12);
    expect((split?.[0] ?? Number.NaN) / 2).toBeCloseTo((split?.[1] ?? Number.NaN) / 4, 12);
  });

  test('token: a chunk of three equal calls weighs three times one', () => {
    const weights = segmentWeights([[10, 10, 10], [10]], 'token');
    expect(weights.map(sum)).toEqual([1.5, 0.5]);
    expect(massSkew(weights)).toBe(1.5);
    expect(massSkew(segmentWeights([[10, 10, 10], [10]], 'chunk-mean'))).toBe(1);
  });

  test('an all-masked segment is refused rather than divided by zero', () => {
    expect(() => segmentWeights([[0]], 'chunk-mean')).toThrow('without sampled tokens');
  });
});
