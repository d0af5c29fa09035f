/** Draws one token from a row of log-probabilities by inverse CDF. */
import type { FloatArray } from './executor.ts';

export interface Distribution {
  readonly logprobs: FloatArray;
  /** exp of the above, which the graph computes faster than we could. */
  readonly probabilities: FloatArray;
  /** Where the row starts. */
  readonly start: number;
  readonly size: number;
}

/** `uniform` in [0, 1) decides; at temperature 0 it is not looked at. */
export function drawToken(row: Distribution, temperature: number, uniform: number): number {
  if (temperature === 0) return likeliest(row);
  return inverseCdf(temperature === 1 ? row : sharpened(row, temperature), uniform);
}

function likeliest({ logprobs, start, size }: Distribution): number {
  let best = 0;
  for (let id = 1; id < size; id++) {
    if ((logprobs[start + id] as number) > (logprobs[start + best] as number)) best = id;
  }
  return best;
}

type Weights = Pick<Distribution, 'probabilities' | 'start' | 'size'>;

function sharpened(row: Distribution, temperature: number): Weights {
  const peak = row.logprobs[row.start + likeliest(row)] as number;
  const probabilities = new Float64Array(row.size);
  for (let id = 0; id < row.size; id++) {
    probabilities[id] = Math.exp(((row.logprobs[row.start + id] as number) - peak) / temperature);
  }
  return { probabilities, start: 0, size: row.size };
}

/** The weights need not sum to one: rounding is divided out. */
function inverseCdf({ probabilities, start, size }: Weights, uniform: number): number {
  let total = 0;
  for (let id = 0; id < size; id++) total += probabilities[start + id] as number;
  let left = uniform * total;
  let last = 0;
  for (let id = 0; id < size; id++) {
    const weight = probabilities[start + id] as number;
    if (weight === 0) continue;
    left -= weight;
    last = id;
    if (left < 0) return id;
  }
  return last;
}
