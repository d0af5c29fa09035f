/** What the credit of a step looked like: silent columns, their spread, and inherited error (definitions §6). */
import type { CreditedRollout } from '../core/trace.ts';
import { moments } from './advantages.ts';

export interface CreditGauges {
  readonly columns: number;
  /** Share of columns with max|A| < 1e−6: they train nothing. Undefined without columns. */
  readonly silentShare: number | undefined;
  /** σ of the scores of each column with at least two valid rollouts, in order. */
  readonly sigmas: readonly number[];
  readonly sigmaMean: number | undefined;
  /** Mean over adjacent columns of corr_i(s[t−1], s[t]): high when a chunk pays for its predecessor's mistakes. */
  readonly inheritedError: number | undefined;
}

export function creditGauges(groups: readonly (readonly CreditedRollout[])[]): CreditGauges {
  const tables = groups.map((group) => group.filter(({ outcome }) => outcome.kind === 'ok'));
  const columns = tables.flatMap((valid) => {
    const [first] = valid;
    if (first === undefined) return [];
    return first.scores_T.map((_, t) => ({
      scores: valid.map((rollout) => pick(rollout.scores_T, t).score),
      advantages: valid.map((rollout) => pick(rollout.advantages_T, t)),
      position: t,
    }));
  });
  const silent = columns.filter(({ advantages }) => advantages.every((a) => Math.abs(a) < 1e-6));
  const sigmas = columns
    .filter(({ scores }) => scores.length >= 2)
    .map(({ scores }) => moments(scores).sigma);
  const inherited = columns.flatMap(({ scores, position }, c) => {
    const previous = columns[c - 1];
    if (position === 0 || previous === undefined) return [];
    const r = correlation(previous.scores, scores);
    return r === undefined ? [] : [r];
  });
  return {
    columns: columns.length,
    silentShare: columns.length === 0 ? undefined : silent.length / columns.length,
    sigmas,
    sigmaMean: meanOf(sigmas),
    inheritedError: meanOf(inherited),
  };
}

/** Pearson's r; undefined where a side does not vary or there are fewer than two pairs. */
export function correlation(xs: readonly number[], ys: readonly number[]): number | undefined {
  if (xs.length !== ys.length) throw new Error(`correlation of ${xs.length} and ${ys.length}`);
  if (xs.length < 2) return undefined;
  const x = moments(xs);
  const y = moments(ys);
  if (x.sigma < 1e-12 || y.sigma < 1e-12) return undefined;
  const covariance = meanOf(xs.map((value, i) => (value - x.mean) * (pick(ys, i) - y.mean)));
  return covariance === undefined ? undefined : covariance / (x.sigma * y.sigma);
}

function meanOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : moments(values).mean;
}

function pick<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new Error(`gauges: no value at ${index} of ${values.length}`);
  return value;
}
