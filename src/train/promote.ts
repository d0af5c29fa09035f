/** Which rollout's bank the next window starts from (definitions §5). */
import type { Rollout, ScoredRollout } from '../core/trace.ts';
import type { Rng } from '../lib/rng.ts';

/** Highest total among fault-free rollouts; tie: smaller bank, then lower index. None: the window is void. */
export function chooseBest(scored: readonly ScoredRollout[]): number | undefined {
  const candidates = scored.flatMap((rollout) => {
    if (rollout.outcome.kind !== 'ok') return [];
    const { total, bankTokens, index } = rollout;
    if (total === undefined) throw new Error(`rollout ${index} is valid and has no total`);
    return [{ total, bankTokens, index }];
  });
  const ranked = candidates.toSorted(
    (a, b) => b.total - a.total || a.bankTokens - b.bankTokens || a.index - b.index,
  );
  return ranked[0]?.index;
}

/** Stage 1 has no score: a seeded-uniform choice among the valid candidates. */
export function chooseCandidate(rollouts: readonly Rollout[], rng: Rng): number | undefined {
  const valid = rollouts.filter(({ outcome }) => outcome.kind === 'ok');
  return valid.length === 0 ? undefined : rng.pick(valid).index;
}
