/** Means with intervals when items of one user hang together: users are resampled, not items (definitions §9). */
import { createRng } from '../lib/rng.ts';

export interface Observation {
  /** User or conversation. */
  readonly cluster: string;
  readonly value: number;
}

export interface BootstrapOptions {
  readonly seed: string;
  readonly resamples: number;
  /** Coverage of the interval, e.g. 0.95. */
  readonly level: number;
  /** With fewer clusters a percentile interval means nothing, and none is given. */
  readonly minClusters: number;
}

export const DEFAULT_BOOTSTRAP: Omit<BootstrapOptions, 'seed'> = {
  resamples: 10_000,
  level: 0.95,
  minClusters: 5,
};

interface Counted {
  readonly mean: number;
  readonly clusters: number;
  readonly items: number;
}

export type Estimate =
  | (Counted & {
      readonly kind: 'interval';
      readonly low: number;
      readonly high: number;
      /** Standard deviation of the resampled means. */
      readonly standardError: number;
      /** The resampled means, ascending. */
      readonly resampled: Float64Array;
    })
  | (Counted & { readonly kind: 'too-few-clusters'; readonly minClusters: number });

/** The mean over items and its percentile interval from resampling whole clusters. Throws without observations. */
export function bootstrapMean(
  observations: readonly Observation[],
  options: BootstrapOptions,
): Estimate {
  const { sums, sizes } = totalsByCluster(observations);
  const mean = sum(sums) / observations.length;
  const counted = { mean, clusters: sums.length, items: observations.length };
  if (sums.length < options.minClusters) {
    return { kind: 'too-few-clusters', ...counted, minClusters: options.minClusters };
  }
  const resampled = resample(sums, sizes, options);
  const tail = (1 - options.level) / 2;
  return {
    kind: 'interval',
    ...counted,
    low: quantile(resampled, tail),
    high: quantile(resampled, 1 - tail),
    standardError: standardDeviation(resampled),
    resampled,
  };
}

export interface PairedItem extends Observation {
  readonly itemId: string;
}

/** a − b item by item, over the same items: what both had to answer. Throws where the items differ. */
export function bootstrapDifference(
  a: readonly PairedItem[],
  b: readonly PairedItem[],
  options: BootstrapOptions,
): Estimate {
  const other = new Map(b.map((item) => [item.itemId, item]));
  if (a.length !== b.length || other.size !== b.length) {
    throw new Error(
      `a paired difference needs the same items: ${a.length}, ${b.length} (${other.size} distinct)`,
    );
  }
  const differences = a.map(({ itemId, cluster, value }): Observation => {
    const pair = other.get(itemId);
    if (pair?.cluster !== cluster) throw new Error(`item ${itemId} has no partner in ${cluster}`);
    other.delete(itemId);
    return { cluster, value: value - pair.value };
  });
  return bootstrapMean(differences, options);
}

function totalsByCluster(observations: readonly Observation[]): {
  readonly sums: Float64Array;
  readonly sizes: Float64Array;
} {
  if (observations.length === 0) throw new Error('no observations');
  const indices = new Map<string, number>();
  for (const { cluster } of observations) {
    if (!indices.has(cluster)) indices.set(cluster, indices.size);
  }
  const sums = new Float64Array(indices.size);
  const sizes = new Float64Array(indices.size);
  for (const { cluster, value } of observations) {
    if (!Number.isFinite(value)) throw new Error(`an observation of ${cluster} is ${value}`);
    const index = indices.get(cluster);
    if (index === undefined) throw new Error(`no index for cluster ${cluster}`);
    sums[index] = (sums[index] ?? Number.NaN) + value;
    sizes[index] = (sizes[index] ?? Number.NaN) + 1;
  }
  return { sums, sizes };
}

function resample(
  sums: Float64Array,
  sizes: Float64Array,
  { seed, resamples }: BootstrapOptions,
): Float64Array {
  const rng = createRng(seed);
  const means = new Float64Array(resamples);
  for (let r = 0; r < resamples; r++) {
    let total = 0;
    let items = 0;
    for (let draw = 0; draw < sums.length; draw++) {
      const cluster = Math.floor(rng.next() * sums.length);
      total += sums[cluster] ?? Number.NaN;
      items += sizes[cluster] ?? Number.NaN;
    }
    means[r] = total / items;
  }
  return means.sort();
}

/** Linear interpolation between order statistics of ascending values. */
function quantile(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

function standardDeviation(values: Float64Array): number {
  const mean = sum(values) / values.length;
  let squares = 0;
  for (const value of values) squares += (value - mean) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
