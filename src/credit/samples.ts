/** Credited rollouts become the samples an engine trains on: the recorded tokens, never re-tokenised. */
import type { PolicyGradientSample } from '../core/policy.ts';
import type { CreditedRollout, Segment } from '../core/trace.ts';
import { massSkew, segmentWeights } from './loss-mass.ts';
import type { CreditOptions } from './options.ts';
import { segmentsOf } from './segments.ts';

export interface SampleBatch {
  readonly samples: readonly PolicyGradientSample[];
  /** (i,t) with an advantage other than 0 that are trained, and those whose every call overflowed the context. */
  readonly trainedChunks: number;
  readonly chunksWithoutTokens: number;
  readonly massSkew: number;
}

interface CreditedChunk {
  readonly advantage: number;
  readonly segments: readonly Segment[];
}

/**
 * Every segment of (i,t) carries A_i[t]. A chunk with advantage 0 contributes nothing, nor to any denominator. Throws
 * where a write with an advantage lacks the segments of its calls: a missing chunk-to-segment map must not pass.
 */
export function toSamples(
  rollouts: readonly CreditedRollout[],
  { lossMass }: Pick<CreditOptions, 'lossMass'>,
): SampleBatch {
  const credited = rollouts.flatMap(creditedChunks);
  const chunks = credited.filter(({ segments }) => segments.length > 0);
  const weights = segmentWeights(
    chunks.map(({ segments }) => segments.map(({ sampledIds }) => sampledIds.length)),
    lossMass,
  );
  const samples = chunks.flatMap(({ advantage, segments }, c) =>
    segments.map((segment, j) => toSample(segment, advantage, weights[c]?.[j])),
  );
  return {
    samples,
    trainedChunks: chunks.length,
    chunksWithoutTokens: credited.length - chunks.length,
    massSkew: massSkew(weights),
  };
}

function creditedChunks(rollout: CreditedRollout): CreditedChunk[] {
  if (rollout.outcome.kind === 'fault') return [];
  const name = `rollout ${rollout.index} of window ${rollout.windowId}`;
  if (rollout.advantages_T.length !== rollout.writes_T.length) {
    throw new Error(
      `${name}: ${rollout.advantages_T.length} advantages for ${rollout.writes_T.length} chunks`,
    );
  }
  return rollout.writes_T.flatMap((write, t): CreditedChunk[] => {
    const advantage = rollout.advantages_T[t];
    if (advantage === undefined || !Number.isFinite(advantage)) {
      throw new Error(`${name}, chunk ${write.chunkId}: advantage ${advantage}`);
    }
    if (advantage === 0) return [];
    return [{ advantage, segments: segmentsOf(write, name) }];
  });
}

function toSample(
  segment: Segment,
  advantage: number,
  weight: number | undefined,
): PolicyGradientSample {
  if (weight === undefined) throw new Error('loss mass: a segment without a weight');
  return {
    kind: 'policy-gradient',
    tokenIds: [...segment.promptIds, ...segment.sampledIds],
    from: segment.promptIds.length,
    logprobs_N: segment.logprobs,
    advantage,
    weight,
  };
}
