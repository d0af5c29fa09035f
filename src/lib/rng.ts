/** Seeded randomness that comes in as an argument: nothing here or elsewhere calls Math.random. */
import { createHash } from 'node:crypto';

export interface Rng {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [low, high]. */
  int(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(values: readonly T[]): T;
  shuffle<T>(values: readonly T[]): T[];
  /** An independent stream, named: drawing from it does not move this one. */
  fork(name: string): Rng;
}

/** sfc32 seeded from sha256(seed). */
export function createRng(seed: string): Rng {
  const words = new Uint32Array(new Uint8Array(createHash('sha256').update(seed).digest()).buffer);
  let [a = 0, b = 0, c = 0, counter = 1] = words;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4294967296;
  };
  for (let warm = 0; warm < 12; warm++) next();
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: <T>(values: readonly T[]): T => {
      if (values.length === 0) throw new Error('cannot pick from an empty list');
      return values[int(0, values.length - 1)] as T;
    },
    shuffle: <T>(values: readonly T[]): T[] => {
      const result = [...values];
      for (let i = result.length - 1; i > 0; i--) {
        const j = int(0, i);
        [result[i], result[j]] = [result[j] as T, result[i] as T];
      }
      return result;
    },
    fork: (name) => createRng(`${seed}\u0000${name}`),
  };
}
