/** Turns samples into what a loss graph is fed: rows, ids, and weights normalised over the whole step. */
import type {
  CrossEntropySample,
  DistillationSample,
  PolicyGradientSample,
  Sample,
  TopK,
} from '../../core/policy.ts';
import type { LossOptions } from '../contract.ts';
import {
  type BatchLimits,
  packSegments,
  type Segment,
  type SegmentBatch,
  targets,
} from './batches.ts';
import type { Tensor, Tensors } from './executor.ts';
import { type LossSpec, TAIL_FLOOR } from './losses.ts';

/** A batch of one kind with everything its loss needs beside the tokens. */
export interface LossBatch extends SegmentBatch<Segment> {
  readonly spec: LossSpec;
  readonly feeds: Tensors;
  /** What the trainer's metrics compare with the new log-probabilities. */
  readonly recorded?: Float32Array;
  readonly advantage?: Float32Array;
}

/**
 * Splits a step into batches. The loss of the step is the sum of, for each kind present,
 * cross-entropy Σ w·ce / Σ w; policy gradient Σ_samples weight · mean over its response tokens;
 * distillation the mean over all unmasked response tokens.
 */
export function lossBatches(
  samples: readonly Sample[],
  loss: LossOptions,
  limits: BatchLimits,
): LossBatch[] {
  const of = <K extends Sample['kind']>(kind: K) =>
    samples.filter((sample): sample is Extract<Sample, { kind: K }> => sample.kind === kind);
  return [
    ...crossEntropyBatches(of('cross-entropy'), loss, limits),
    ...policyGradientBatches(of('policy-gradient'), loss, limits),
    ...distillationBatches(of('distillation'), loss, limits),
  ].filter((batch) => batch.rows.length > 0);
}

function specOf(kind: LossSpec['kind'], loss: LossOptions): LossSpec {
  return { kind, klArm: loss.klArm, entropyBonus: loss.entropyBonus !== 0 };
}

function crossEntropyBatches(
  samples: readonly CrossEntropySample[],
  loss: LossOptions,
  limits: BatchLimits,
): LossBatch[] {
  for (const sample of samples) sameLength(sample, sample.weights_N, 'weights_N');
  let total = 0;
  for (const { weights_N } of samples) for (const weight of weights_N) total += weight;
  if (total === 0) return [];
  return packSegments(samples, limits).map((batch): LossBatch => {
    const weights = batch.segments.flatMap(({ weights_N }) => weights_N);
    return {
      ...batch,
      spec: specOf('cross-entropy', loss),
      feeds: {
        ids: column(targets(batch)),
        weight: vector(weights.map((weight) => weight / total)),
      },
    };
  });
}

function policyGradientBatches(
  samples: readonly PolicyGradientSample[],
  loss: LossOptions,
  limits: BatchLimits,
): LossBatch[] {
  if (samples.length > 0 && loss.importanceCap !== undefined) {
    throw new Error(
      'importanceCap: the local engine samples and trains with the same weights, so there is nothing to cap',
    );
  }
  for (const sample of samples) sameLength(sample, sample.logprobs_N, 'logprobs_N');
  return packSegments(samples, limits).map((batch): LossBatch => {
    const recorded = Float32Array.from(batch.segments.flatMap(({ logprobs_N }) => logprobs_N));
    const perToken = (value: (sample: PolicyGradientSample) => number): Float32Array =>
      Float32Array.from(
        batch.segments.flatMap((sample) =>
          Array<number>(sample.logprobs_N.length).fill(value(sample)),
        ),
      );
    const advantage = perToken((sample) => sample.advantage);
    return {
      ...batch,
      spec: specOf('policy-gradient', loss),
      recorded,
      advantage,
      feeds: {
        ids: column(targets(batch)),
        recorded: vector(recorded),
        advantage: vector(advantage),
        weight: vector(perToken(({ weight, logprobs_N }) => weight / logprobs_N.length)),
        lowest: scalar(1 - loss.clipLow),
        highest: scalar(1 + loss.clipHigh),
        ...bonusFeed(loss),
      },
    };
  });
}

function distillationBatches(
  samples: readonly DistillationSample[],
  loss: LossOptions,
  limits: BatchLimits,
): LossBatch[] {
  for (const sample of samples) sameLength(sample, sample.teacher_N, 'teacher_N');
  const opinions = samples.flatMap(({ teacher_N }) => teacher_N.filter(isDefined));
  if (opinions.length === 0) return [];
  const width = Math.max(...opinions.map(({ ids }) => ids.length));
  return packSegments(samples, limits).map((batch): LossBatch => {
    // Masked positions leave the batch: no row, no weight, no part in any mean.
    const teacher = batch.segments.flatMap(({ teacher_N }) => teacher_N);
    const rows = batch.rows.filter((_, index) => teacher[index] !== undefined);
    return {
      ...batch,
      rows,
      spec: specOf('distillation', loss),
      feeds: {
        ...teacherFeeds(teacher.filter(isDefined), { width, arm: loss.klArm }),
        weight: vector(new Float32Array(rows.length).fill(1 / opinions.length)),
        ...bonusFeed(loss),
      },
    };
  });
}

interface TeacherLayout {
  readonly width: number;
  readonly arm: LossOptions['klArm'];
}

function teacherFeeds(opinions: readonly TopK[], { width, arm }: TeacherLayout): Tensors {
  const ids = new Int32Array(opinions.length * width);
  const teacher = new Float32Array(opinions.length * width);
  const valid = new Float32Array(opinions.length * width);
  const teacherTail = new Float32Array(opinions.length);
  for (const [row, opinion] of opinions.entries()) {
    checkOpinion(opinion);
    const mass = opinion.logprobs.reduce((total, logprob) => total + Math.exp(logprob), 0);
    const shift = arm === 'renormalised' ? Math.log(mass) : 0;
    teacherTail[row] = Math.log(Math.max(1 - mass, TAIL_FLOOR));
    ids.set(paddedIds(opinion.ids, width), row * width);
    for (const [index, logprob] of opinion.logprobs.entries()) {
      teacher[row * width + index] = logprob - shift;
      valid[row * width + index] = 1;
    }
  }
  const dims = [opinions.length, width];
  return {
    ids: { dims, data: ids },
    teacher: { dims, data: teacher },
    valid: { dims, data: valid },
    ...(arm === 'tail' ? { teacherTail: vector(teacherTail) } : {}),
  };
}

function checkOpinion({ ids, logprobs }: TopK): void {
  if (ids.length !== logprobs.length || new Set(ids).size !== ids.length) {
    throw new Error('a teacher opinion needs distinct ids, each with its log-probability');
  }
  if (!logprobs.every(Number.isFinite)) {
    throw new Error('a teacher opinion with a log-probability that is not finite must be masked');
  }
}

/** Fills up with ids that do not occur, so that no two gradients meet in one place. */
function paddedIds(ids: readonly number[], width: number): readonly number[] {
  if (ids.length === width) return ids;
  const used = new Set(ids);
  const padded = [...ids];
  for (let id = 0; padded.length < width; id++) if (!used.has(id)) padded.push(id);
  return padded;
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function sameLength(segment: Segment, values: readonly unknown[], name: string): void {
  const expected = segment.tokenIds.length - segment.from;
  if (values.length !== expected) {
    throw new Error(`${name} has ${values.length} entries for ${expected} response tokens`);
  }
}

function bonusFeed(loss: LossOptions): Tensors {
  return loss.entropyBonus === 0 ? {} : { entropyBonus: scalar(loss.entropyBonus) };
}

function column(ids: Int32Array): Tensor {
  return { dims: [ids.length, 1], data: ids };
}

function vector(values: ArrayLike<number>): Tensor {
  return { dims: [values.length], data: Float32Array.from(values) };
}

function scalar(value: number): Tensor {
  return { dims: [], data: Float32Array.of(value) };
}
