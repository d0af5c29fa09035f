/** Packs segments of different lengths into right-padded batches of bounded size. */
import { type DecoderBatch, LENGTH_MULTIPLE } from './decoder.ts';

/** A segment and the range [from, length) of its tokens whose predictions matter. */
export interface Segment {
  readonly tokenIds: readonly number[];
  readonly from: number;
}

export interface SegmentBatch<S extends Segment> extends DecoderBatch {
  readonly segments: readonly S[];
}

export interface BatchLimits {
  /** Upper bound on batch · length, except for a single longer segment. */
  readonly maxTokens: number;
  readonly contextLength: number;
  readonly vocabularySize: number;
  /** Only segments of one padded length share a batch, so that no result depends on what else was asked. */
  readonly uniform?: boolean;
}

/** Longest first, so that neighbours are alike; the order of equals is kept, so the split is the same every time. */
export function packSegments<S extends Segment>(
  segments: readonly S[],
  limits: BatchLimits,
): SegmentBatch<S>[] {
  for (const segment of segments) check(segment, limits);
  const ordered = [...segments].sort((a, b) => b.tokenIds.length - a.tokenIds.length);
  const batches: SegmentBatch<S>[] = [];
  while (ordered.length > 0) {
    const length = paddedLength(ordered[0]);
    const alike = limits.uniform
      ? ordered.filter((segment) => paddedLength(segment) === length).length
      : ordered.length;
    const count = Math.max(1, Math.floor(limits.maxTokens / length));
    batches.push(pad(ordered.splice(0, Math.min(count, alike)), length));
  }
  return batches;
}

function check({ tokenIds, from }: Segment, limits: BatchLimits): void {
  if (tokenIds.length > limits.contextLength) {
    throw new Error(`a segment of ${tokenIds.length} tokens exceeds ${limits.contextLength}`);
  }
  if (from < 1 || from > tokenIds.length) {
    throw new Error(`from = ${from} must lie in [1, ${tokenIds.length}]: nothing predicts token 0`);
  }
  const foreign = tokenIds.find((id) => !(id >= 0 && id < limits.vocabularySize));
  if (foreign !== undefined) throw new Error(`token ${foreign} is not in the vocabulary`);
}

/** The last token is predicted but never read. */
function paddedLength(longest: Segment | undefined): number {
  const read = longest === undefined ? 1 : Math.max(1, longest.tokenIds.length - 1);
  return Math.ceil(read / LENGTH_MULTIPLE) * LENGTH_MULTIPLE;
}

function pad<S extends Segment>(segments: readonly S[], length: number): SegmentBatch<S> {
  const tokens = new Int32Array(segments.length * length);
  const rows: number[] = [];
  for (const [row, { tokenIds, from }] of segments.entries()) {
    tokens.set(tokenIds.slice(0, -1), row * length);
    for (let index = from; index < tokenIds.length; index++) rows.push(row * length + index - 1);
  }
  return { segments, batch: segments.length, length, tokens, rows: Int32Array.from(rows) };
}

/** The predicted tokens of a batch, one for each row. */
export function targets(batch: SegmentBatch<Segment>): Int32Array {
  return Int32Array.from(batch.segments.flatMap(({ tokenIds, from }) => tokenIds.slice(from)));
}
