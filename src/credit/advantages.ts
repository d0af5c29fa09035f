/** Chunk-level GRPO: scores are normalised down the column, over the rollouts of one group (definitions §6). */
import type { CreditedRollout, ScoredRollout } from '../core/trace.ts';
import { assertGroup } from './group.ts';
import type { CreditOptions } from './options.ts';

/**
 * A_i[t] for the valid rollouts of one group: one scalar per (i,t), however many segments a chunk has. A faulted rollout
 * has no advantages and no vote. Throws where the rollouts are not one group.
 */
export function creditGroup(
  scored: readonly ScoredRollout[],
  options: CreditOptions,
): CreditedRollout[] {
  assertGroup(scored, options.groupSize);
  const valid = scored.filter(({ outcome }) => outcome.kind === 'ok');
  assertSameChunks(valid);
  const returns_GT = valid.map((rollout) => returnsOf(rollout, options));
  const columns_T = (valid[0] === undefined ? [] : valid[0].scores_T).map((_, t) =>
    valid.some(({ scores_T }) => isVoided(scores_T[t]))
      ? valid.map(() => 0)
      : columnAdvantages(columnOf(returns_GT, t), options),
  );
  return scored.map((rollout): CreditedRollout => {
    const i = valid.indexOf(rollout);
    return { ...rollout, advantages_T: i < 0 ? [] : columns_T.map((column) => at(column, i)) };
  });
}

/**
 * The advantages of one column of scores, in its order. Fewer than two votes, or equal ones, give exactly 0.
 * σ is the population standard deviation.
 */
export function columnAdvantages(
  scores: readonly number[],
  { normaliser, sigmaFloor }: Pick<CreditOptions, 'normaliser' | 'sigmaFloor'>,
): number[] {
  if (!scores.every(Number.isFinite)) throw new Error(`credit: non-finite score in [${scores}]`);
  if (scores.length < 2 || scores.every((score) => score === scores[0])) return scores.map(() => 0);
  const { mean, sigma } = moments(scores);
  const scale = scaleOf(sigma, normaliser, sigmaFloor);
  return scores.map((score) => (score - mean) * scale);
}

/** Mean and population standard deviation; the column must have a member. */
export function moments(values: readonly number[]): {
  readonly mean: number;
  readonly sigma: number;
} {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, sigma: Math.sqrt(variance) };
}

/** Σ_{u ≥ t} γ^{u−t} s[u] for each t. */
export function discountedReturns(scores_T: readonly number[], gamma: number): number[] {
  const returns_T: number[] = [];
  let next = 0;
  for (const score of scores_T.toReversed()) {
    next = score + gamma * next;
    returns_T.push(next);
  }
  return returns_T.reverse();
}

function scaleOf(
  sigma: number,
  normaliser: CreditOptions['normaliser'],
  sigmaFloor: number,
): number {
  switch (normaliser) {
    case 'floored':
      return 1 / Math.max(sigma, sigmaFloor);
    case 'article':
      return sigma < 1e-8 ? 0 : 1 / (sigma + 1e-6);
    case 'mean':
      return 1;
    default:
      throw new Error(`unknown normaliser ${normaliser satisfies never}`);
  }
}

function returnsOf(rollout: ScoredRollout, { arm, gamma }: CreditOptions): number[] {
  if (arm !== 'window') {
    return discountedReturns(
      rollout.scores_T.map(({ score }) => score),
      gamma,
    );
  }
  const { total } = rollout;
  if (total === undefined) throw new Error(`credit: rollout ${rollout.index} has no total`);
  return rollout.scores_T.map(() => total);
}

function assertSameChunks(valid: readonly ScoredRollout[]): void {
  for (const { index, writes_T, scores_T } of valid) {
    const chunks = valid[0]?.writes_T.map(({ chunkId }) => chunkId).join();
    const own = writes_T.map(({ chunkId }) => chunkId).join();
    if (own !== chunks || scores_T.length !== writes_T.length) {
      throw new Error(`credit: rollout ${index} was not scored on the chunks of its group`);
    }
  }
}

function columnOf(returns_GT: readonly (readonly number[])[], t: number): number[] {
  return returns_GT.map((returns_T) => at(returns_T, t));
}

function at(values: readonly number[], index: number): number {
  const value = values[index];
  if (value === undefined) throw new Error(`credit: no value at ${index} of ${values.length}`);
  return value;
}

function isVoided(score: ScoredRollout['scores_T'][number] | undefined): boolean {
  return score !== undefined && score.voidedTerms.length > 0;
}
