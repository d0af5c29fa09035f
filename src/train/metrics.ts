/** Means that a step's line reports; terms that do not exist are left out, never counted as 0. */
import type { CreditedRollout } from '../core/trace.ts';

type Metrics = Record<string, number | undefined>;

/** What the writes alone say. */
export function writeMetrics(rollouts: readonly CreditedRollout[]): Metrics {
  const writes = rollouts.flatMap(({ writes_T }) => writes_T);
  const calls = writes.flatMap((write) => write.calls).filter(({ purpose }) => purpose === 'write');
  const valid = rollouts.filter(({ outcome }) => outcome.kind === 'ok');
  return {
    malformedWrites: share(writes, ({ outcome }) => outcome.kind === 'policy-error'),
    malformedCalls: share(calls, ({ outcome }) => outcome.kind === 'policy-error'),
    operationsPerChunk: mean(writes.map(({ ops }) => ops.length)),
    bankTokens: mean(valid.map(({ bankTokens }) => bankTokens)),
  };
}

/** What exam and reward add. */
export function scoreMetrics(rollouts: readonly CreditedRollout[]): Metrics {
  const scores = rollouts.flatMap(({ scores_T }) => scores_T);
  return {
    ...writeMetrics(rollouts),
    chunkScore: mean(scores.map(({ score }) => score)),
    prm: mean(scores.flatMap(({ prm }) => prm ?? [])),
    orm: mean(scores.flatMap(({ orm }) => orm ?? [])),
    pen: mean(scores.map(({ pen }) => pen)),
    total: mean(rollouts.flatMap(({ total }) => total ?? [])),
  };
}

/**
 * The same again for each configuration, as `name/configuration`, where a step has more than one: what one framework
 * makes hard must not hide in a mean.
 */
export function withConfigurations(
  rollouts: readonly CreditedRollout[],
  metricsOf: (rollouts: readonly CreditedRollout[]) => Metrics,
): Metrics {
  const names = [...new Set(rollouts.map(({ configuration }) => configuration))];
  const columns = names.flatMap((configuration) => {
    const own = rollouts.filter((rollout) => rollout.configuration === configuration);
    return Object.entries(metricsOf(own)).map(
      ([name, value]) => [`${name}/${configuration}`, value] as const,
    );
  });
  return { ...metricsOf(rollouts), ...(names.length > 1 && Object.fromEntries(columns)) };
}

/**
 * Share of different banks among a group's rollouts after a chunk, mean over columns: how far the states under one
 * baseline have drifted apart.
 */
export function distinctBanks(groups: readonly (readonly CreditedRollout[])[]): number | undefined {
  const shares = groups.flatMap((group) => {
    const valid = group.filter(({ outcome }) => outcome.kind === 'ok');
    return (valid[0]?.writes_T ?? []).map((_, t) => {
      const hashes = new Set(valid.map(({ writes_T }) => writes_T[t]?.hashAfter));
      return hashes.size / valid.length;
    });
  });
  return mean(shares);
}

function mean(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function share<T>(values: readonly T[], holds: (value: T) => boolean): number | undefined {
  return mean(values.map((value) => (holds(value) ? 1 : 0)));
}
