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

function mean(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function share<T>(values: readonly T[], holds: (value: T) => boolean): number | undefined {
  return mean(values.map((value) => (holds(value) ? 1 : 0)));
}
