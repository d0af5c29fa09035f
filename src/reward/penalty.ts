/** pen[t]: what bank growth costs relative to the chunk that caused it (definitions §5). */
import type { GrowthOptions } from './options.ts';

interface Growth {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly chunkTokens: number;
}

/** x = max(0, |B[t]| − |B[t−1]|) / max(|c[t]|, 64), in tokens per token. */
export function growthRatio(growth: Growth, { minChunkTokens }: GrowthOptions): number {
  const grown = Math.max(0, growth.tokensAfter - growth.tokensBefore);
  return grown / Math.max(growth.chunkTokens, minChunkTokens);
}

/** pen = (e^{ku} − 1)/(e^k − 1) with u = min(1, (x − τ)/(x_full − τ)); 0 up to τ. In [0, 1]. */
export function growthPenalty(ratio: number, options: GrowthOptions): number {
  const { freeRatio, fullRatio, steepness } = options;
  if (!(fullRatio > freeRatio)) {
    throw new Error(`growth penalty: fullRatio ${fullRatio} must exceed freeRatio ${freeRatio}`);
  }
  if (Number.isNaN(ratio)) throw new Error('growth penalty: the growth ratio is not a number');
  if (ratio <= freeRatio) return 0;
  const u = Math.min(1, (ratio - freeRatio) / (fullRatio - freeRatio));
  return steepness === 0 ? u : Math.expm1(steepness * u) / Math.expm1(steepness);
}
