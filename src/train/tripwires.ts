/** Checks that stop a run whose numbers look healthy and mean nothing (definitions §7, silent failures 2 and 3). */
import type { DistillationSample, PolicyGradientSample, TopK } from '../core/policy.ts';
import type { PolicyEngine } from '../engine/contract.ts';
import type { Writer } from '../gateway/contract.ts';
import { mapAll } from '../lib/pool.ts';
import { UserError } from '../lib/user-error.ts';
import type { StepRecord } from '../store/schema.ts';

export class TripwireError extends Error {
  override readonly name = 'TripwireError';
}

const AGREEMENT_SAMPLES = 64;
const MEAN_RATIO = { low: 0.98, high: 1.02 };
const MAX_MEAN_DIFFERENCE = 0.05;

/**
 * Before the first update the trainer must see the log-probabilities that the sampler recorded: temperature, top-p or
 * kernels that differ would bias every ratio. Returns the mean ratio.
 */
export async function assertSamplerAgrees(
  engine: Pick<PolicyEngine, 'score'>,
  samples: readonly PolicyGradientSample[],
): Promise<number> {
  const checked = samples.slice(0, AGREEMENT_SAMPLES);
  const differences = await mapAll(checked, async ({ tokenIds, from, logprobs_N }) => {
    const now_N = await engine.score(tokenIds, from);
    return now_N.map((now, i) => now - at(logprobs_N, i));
  });
  const all = differences.flat();
  const ratio = mean(all.map(Math.exp));
  const difference = mean(all.map(Math.abs));
  const agrees =
    ratio >= MEAN_RATIO.low && ratio <= MEAN_RATIO.high && difference <= MAX_MEAN_DIFFERENCE;
  if (all.length > 0 && !agrees) {
    throw new TripwireError(
      `sampler and trainer disagree before the first update: mean ratio ${ratio}, mean |Δ log-probability| ${difference}; check temperature, top-p and the weights that the sampler serves`,
    );
  }
  return ratio;
}

/** Recorded log-probabilities are of temperature 1; tokens drawn at another one are not that policy's actions. */
export function assertSamplesAtOne(writer: Writer): void {
  if (writer.kind !== 'render' || writer.temperature === 1) return;
  throw new UserError(
    `the writer samples at temperature ${writer.temperature}: RL needs 1, where the recorded log-probabilities are`,
  );
}

/** Student and teacher must read the same token ids. */
export function assertSameTokenizer(studentHash: string, teacherHash: string): void {
  if (studentHash !== teacherHash) {
    throw new TripwireError(
      `student and teacher have different tokenizers (${studentHash} and ${teacherHash})`,
    );
  }
}

export interface TeacherRequest {
  readonly k: number;
  readonly vocabularySize: number;
  readonly positions: number;
}

/**
 * A teacher's answer about one segment. Throws where it is not one entry a position or names fewer candidates than
 * asked; entries without a finite log-probability become `undefined`: a teacher fault, masked and counted.
 */
export function checkTopK(
  answer: readonly (TopK | undefined)[],
  { k, vocabularySize, positions }: TeacherRequest,
): (TopK | undefined)[] {
  if (answer.length !== positions) {
    throw new TripwireError(`the teacher answered ${answer.length} of ${positions} positions`);
  }
  return answer.map((entry) => {
    if (entry === undefined || entry.ids.length === 0) return undefined;
    const finite = entry.ids.flatMap((id, i) => {
      const logprob = entry.logprobs[i];
      return logprob !== undefined && Number.isFinite(logprob) ? [{ id, logprob }] : [];
    });
    if (finite.length === 0) return undefined;
    const mass = finite.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0);
    if (finite.length < Math.min(k, vocabularySize) && mass < 1 - 1e-6) {
      throw new TripwireError(
        `the teacher named ${finite.length} of ${k} candidates: raise its limit or ask for fewer`,
      );
    }
    return {
      ids: finite.map(({ id }) => id),
      logprobs: finite.map(({ logprob }) => logprob),
    };
  });
}

/** Silent failure 2: a teacher that answers with success and nothing in it. Returns the share of faulted positions. */
export function assertTeacherAnswers(
  samples: readonly DistillationSample[],
  maxFaultShare: number,
): number {
  const positions = samples.flatMap(({ teacher_N }) => teacher_N);
  const faults = positions.filter((entry) => entry === undefined).length;
  if (faults > maxFaultShare * positions.length) {
    throw new TripwireError(
      `teacher-fault: no top-k at ${faults} of ${positions.length} response tokens`,
    );
  }
  assertAligned(samples);
  return positions.length === 0 ? 0 : faults / positions.length;
}

/** The student's own tokens must be likelier under the teacher at their own position than one beside it. */
function assertAligned(samples: readonly DistillationSample[]): void {
  const [own, before, after] = [0, -1, 1].map((shift) => hitShare(samples, shift));
  if (own === undefined || before === undefined || after === undefined) return;
  if (Math.max(before, after) > own + 0.1) {
    throw new TripwireError(
      `the teacher's positions are shifted: it names ${own} of the student's tokens in place and ${Math.max(before, after)} one beside`,
    );
  }
}

/** Share of the student's tokens whose probability under the teacher's entry at `shift` is above one half. */
function hitShare(samples: readonly DistillationSample[], shift: number): number | undefined {
  const hits = samples.flatMap(({ tokenIds, from, teacher_N }) =>
    tokenIds.slice(from).flatMap((id, i) => {
      const entry = teacher_N[i + shift];
      if (entry === undefined || teacher_N[i] === undefined) return [];
      const logprob = entry.logprobs[entry.ids.indexOf(id)];
      return [logprob !== undefined && logprob > Math.log(0.5) ? 1 : 0];
    }),
  );
  return hits.length < 16 ? undefined : mean(hits);
}

const MASS_STEPS = 5;
const MASS_MAY_FALL = 0.05;

/** The truncated sum lets student mass leak out of the teacher's top k; a sound objective does not. */
export function assertMassHolds(records: readonly StepRecord[]): void {
  const masses = records.flatMap(({ metrics: { studentMassOnTopK } }) => studentMassOnTopK ?? []);
  if (masses.length < 2 * MASS_STEPS) return;
  const first = mean(masses.slice(0, MASS_STEPS));
  const last = mean(masses.slice(-MASS_STEPS));
  if (last < first - MASS_MAY_FALL) {
    throw new TripwireError(
      `student mass on the teacher's top k fell from ${first} to ${last}: the objective leaks`,
    );
  }
}

/** One step without a finite loss keeps its weights; two in a row are no accident. */
export function assertFinite(records: readonly StepRecord[]): void {
  const [last, previous] = [records.at(-1), records.at(-2)];
  if (
    last?.outcome.kind === 'skipped-non-finite' &&
    previous?.outcome.kind === 'skipped-non-finite'
  ) {
    throw new TripwireError(
      `loss or gradient was not finite in steps ${previous.step} and ${last.step}`,
    );
  }
}

/** A platform that fails step after step is down; more attempts only cost. */
export function assertPlatformUp(records: readonly StepRecord[], maxAborted: number): void {
  const tail = records.slice(-maxAborted);
  const last = tail.at(-1);
  if (tail.length < maxAborted || !tail.every(({ outcome }) => outcome.kind === 'aborted')) return;
  const why = last?.outcome.kind === 'aborted' ? last.outcome.reason : '';
  throw new TripwireError(`${maxAborted} steps in a row were aborted: ${why}`);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function at(values: readonly number[], index: number): number {
  const value = values[index];
  if (value === undefined) throw new TripwireError(`no recorded log-probability at ${index}`);
  return value;
}
