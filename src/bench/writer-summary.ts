/** What an evaluation says about one writer, and how two of them differ: always over the planned items. */
import { z } from 'zod';
import type { ExamItem } from '../core/exam.ts';
import { FaultError } from '../core/outcome.ts';
import { UserError } from '../lib/user-error.ts';
import {
  type BootstrapOptions,
  bootstrapDifference,
  bootstrapMean,
  type Estimate,
  type PairedItem,
} from './bootstrap.ts';
import type { EvaluatedWindow } from './evaluate.ts';

/** `low` and `high` are null where there are too few users for an interval. */
export const intervalSchema = z.object({
  mean: z.number(),
  low: z.number().nullable(),
  high: z.number().nullable(),
});
export type Interval = z.infer<typeof intervalSchema>;

export const writerSummarySchema = z.object({
  /** Mean s[t] over chunks, −0.5 to 3. */
  chunkScore: intervalSchema,
  /** Mean score of recall probes, 0 to 1. */
  recall: z.number().nullable(),
  trapsRefused: z.number().nullable(),
  /** Malformed answers over all of the writer's answers. */
  protocolErrorRate: z.number().nullable(),
  /** Tokens of a user's final bank, mean over users. */
  bankTokens: z.number().nullable(),
  /** The exam over our own ranking of the listed memories, where it was sat: what is better here, the ranker lost. */
  ownRanking: z
    .object({ chunkScore: intervalSchema, recall: z.number().nullable() })
    .exactOptional(),
});
export type WriterSummary = z.infer<typeof writerSummarySchema>;

export type Scored = Extract<EvaluatedWindow, { kind: 'scored' }>;

export function scoredWindows(windows: readonly EvaluatedWindow[]): Scored[] {
  return windows.filter((window): window is Scored => window.kind === 'scored');
}

/** Every chunk's score, clustered by user. */
export function chunkScores(windows: readonly EvaluatedWindow[]): PairedItem[] {
  return scoredWindows(windows).flatMap(({ userId, rollout }) =>
    rollout.scores_T.map(({ score }, t) => ({
      itemId: `${rollout.windowId}/${t}`,
      cluster: userId,
      value: score,
    })),
  );
}

export function summariseWriter(
  windows: readonly EvaluatedWindow[],
  options: BootstrapOptions,
): WriterSummary {
  const scores = chunkScores(windows);
  if (scores.length === 0) throw nothingScored(windows);
  const ranked = underOwnRanking(windows);
  return {
    chunkScore: toInterval(bootstrapMean(scores, options)),
    recall: mean(itemScores(windows, ({ kind }) => kind === 'recall')),
    trapsRefused: mean(itemScores(windows, ({ kind }) => kind === 'trap')),
    protocolErrorRate: mean(malformedCalls(windows)),
    bankTokens: mean(finalBankTokens(windows)),
    ...(ranked.length > 0 && {
      ownRanking: {
        chunkScore: toInterval(bootstrapMean(chunkScores(ranked), options)),
        recall: mean(itemScores(ranked, ({ kind }) => kind === 'recall')),
      },
    }),
  };
}

function underOwnRanking(windows: readonly EvaluatedWindow[]): EvaluatedWindow[] {
  return scoredWindows(windows).flatMap((window) =>
    window.ownRanking === undefined ? [] : [{ ...window, rollout: window.ownRanking }],
  );
}

/** No number can be said, and the reason is somebody else's failure. */
function nothingScored(windows: readonly EvaluatedWindow[]): Error {
  const [first] = windows.flatMap((window) => (window.kind === 'fault' ? [window.fault] : []));
  if (first === undefined)
    return new UserError('there is nothing to evaluate: the data has no window');
  return new FaultError(
    first.boundary,
    `no window was scored, all ${windows.length} are faults; the first: ${first.message}`,
  );
}

/** a − b on the chunks that both were scored on; a fault on either side leaves the pair out and is counted elsewhere. */
export function compareWriters(
  a: readonly EvaluatedWindow[],
  b: readonly EvaluatedWindow[],
  options: BootstrapOptions,
): Interval {
  const [left, right] = [chunkScores(a), chunkScores(b)];
  const both = new Set(left.map(({ itemId }) => itemId));
  const common = new Set(
    right.filter(({ itemId }) => both.has(itemId)).map(({ itemId }) => itemId),
  );
  const inBoth = ({ itemId }: PairedItem): boolean => common.has(itemId);
  return toInterval(bootstrapDifference(left.filter(inBoth), right.filter(inBoth), options));
}

/** Scores of the graded items that a filter admits. */
export function itemScores(
  windows: readonly EvaluatedWindow[],
  admit: (item: ExamItem) => boolean,
): number[] {
  return scoredWindows(windows).flatMap(({ artifact, rollout }) => {
    const items = new Map(
      [...artifact.probes, ...artifact.questions].map((item) => [item.id, item]),
    );
    return rollout.results.flatMap(({ itemId, result }) => {
      const item = items.get(itemId);
      if (item === undefined)
        throw new Error(`a result for an item that was not planned: ${itemId}`);
      return result.kind === 'graded' && admit(item) ? [result.score] : [];
    });
  });
}

/** Windows and items that the platform lost. */
export function countFaults(windows: readonly EvaluatedWindow[]): number {
  const lost = windows.filter(({ kind }) => kind === 'fault').length;
  const items = scoredWindows(windows).flatMap(({ rollout }) => rollout.results);
  return lost + items.filter(({ result }) => result.kind === 'fault').length;
}

function malformedCalls(windows: readonly EvaluatedWindow[]): number[] {
  return scoredWindows(windows)
    .flatMap(({ rollout }) => rollout.writes_T.flatMap(({ calls }) => calls))
    .filter(({ purpose, outcome }) => purpose === 'write' && outcome.kind !== 'fault')
    .map(({ outcome }) => (outcome.kind === 'policy-error' ? 1 : 0));
}

function finalBankTokens(windows: readonly EvaluatedWindow[]): number[] {
  const last = new Map(
    scoredWindows(windows).map(({ userId, rollout }) => [userId, rollout.bankTokens]),
  );
  return [...last.values()];
}

export function mean(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function toInterval(estimate: Estimate): Interval {
  switch (estimate.kind) {
    case 'interval':
      return { mean: estimate.mean, low: estimate.low, high: estimate.high };
    case 'too-few-clusters':
      return { mean: estimate.mean, low: null, high: null };
    default:
      return estimate satisfies never;
  }
}
