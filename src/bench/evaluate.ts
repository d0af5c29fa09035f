/** One writer over many users inside a real harness: every bank starts empty, only the writer is swapped (definitions §9). */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Listing } from '../core/bank.ts';
import type { ItemResult, WindowArtifact } from '../core/exam.ts';
import type { Fault } from '../core/outcome.ts';
import type { ScoredRollout } from '../core/trace.ts';
import type { Retrievable } from '../exam/contract.ts';
import { type OwnRankingOptions, rankListing } from '../exam/own-ranking.ts';
import { type Examiners, sitExam } from '../exam/sit.ts';
import { fileNameOf } from '../lib/file-name.ts';
import { mapAll, type Pool } from '../lib/pool.ts';
import type { RewardOptions } from '../reward/options.ts';
import { scoreGroup } from '../reward/score-rollout.ts';
import { rollOutWindow } from '../rollout/rollout.ts';
import type { Parent, RolloutParts } from '../rollout/session.ts';

export interface EvaluationParts extends RolloutParts {
  readonly examiners: Examiners;
  readonly reward: RewardOptions;
  /** Bounds the users whose banks are open at a time. */
  readonly pool: Pool;
  /** Working banks live here and are removed as soon as the next one stands. */
  readonly directory: string;
  /** Sits every exam a second time over our own ranking of the listed memories. */
  readonly ownRanking?: OwnRankingOptions;
  readonly onWindow?: (window: EvaluatedWindow) => void;
}

/** One user's windows in the order of their parent chain. */
export interface UserExam {
  readonly userId: string;
  readonly artifacts: readonly WindowArtifact[];
}

/** A planned window is scored or is a fault; it is never gone. */
export type EvaluatedWindow = {
  readonly userId: string;
  readonly artifact: WindowArtifact;
} & (
  | {
      readonly kind: 'scored';
      readonly rollout: ScoredRollout;
      /** The same writes, scored by the exam over our own ranking. */
      readonly ownRanking?: ScoredRollout;
    }
  | { readonly kind: 'fault'; readonly fault: Fault }
);

/**
 * Windows of all users in order. A user's chain ends with its first fault: the windows after it are faults too, since
 * their parent bank never came to be. Rejects with the signal's reason when aborted.
 */
export async function evaluateWriter(
  parts: EvaluationParts,
  users: readonly UserExam[],
  seed: string,
): Promise<EvaluatedWindow[]> {
  const windows_U = await mapAll(users, (user) =>
    parts.pool.run(() => evaluateUser(parts, user, seed)),
  );
  return windows_U.flat();
}

async function evaluateUser(
  parts: EvaluationParts,
  { userId, artifacts }: UserExam,
  seed: string,
): Promise<EvaluatedWindow[]> {
  const evaluated: EvaluatedWindow[] = [];
  let parent: Parent = { kind: 'empty' };
  let broken: Fault | undefined;
  for (const artifact of artifacts) {
    const window: EvaluatedWindow =
      broken === undefined
        ? await evaluateWindow(parts, { userId, artifact, parent, seed })
        : { userId, artifact, kind: 'fault', fault: broken };
    evaluated.push(window);
    parts.onWindow?.(window);
    const used: Parent = parent;
    const directory = bankDirectory(parts, artifact);
    if (window.kind === 'fault') {
      broken = window.fault;
      await rm(directory, { recursive: true, force: true });
    } else {
      parent = { kind: 'bank', directory, hash: window.rollout.finalHash };
    }
    if (used.kind === 'bank' && used !== parent) await rm(used.directory, { recursive: true });
  }
  if (parent.kind === 'bank') await rm(parent.directory, { recursive: true });
  return evaluated;
}

interface WindowTask {
  readonly userId: string;
  readonly artifact: WindowArtifact;
  readonly parent: Parent;
  readonly seed: string;
}

async function evaluateWindow(
  parts: EvaluationParts,
  { userId, artifact, parent, seed }: WindowTask,
): Promise<EvaluatedWindow> {
  const { window } = artifact;
  const task = {
    window,
    sequence: userId,
    index: 0,
    parent,
    seed: `${seed}/${window.id}`,
    directory: bankDirectory(parts, artifact),
  };
  const { rollout, final } = await rollOutWindow(parts, task, (bank) =>
    examineBank(parts, artifact, bank),
  );
  if (rollout.outcome.kind === 'fault') {
    return { userId, artifact, kind: 'fault', fault: rollout.outcome };
  }
  if (final === undefined) throw new Error('a valid rollout without an exam');
  const score = (results: readonly ItemResult[]): ScoredRollout => {
    const judged = { artifact, results_G: [results] };
    const [scored] = scoreGroup([rollout], judged, alone(parts.reward));
    if (scored === undefined) throw new Error(`window ${window.id} was not scored`);
    return scored;
  };
  const { native, ownRanking } = final;
  return {
    userId,
    artifact,
    kind: 'scored',
    rollout: score(native),
    ...(ownRanking && { ownRanking: score(ownRanking) }),
  };
}

interface ExamResults {
  /** Over the blocks that the framework itself retrieves. */
  readonly native: readonly ItemResult[];
  readonly ownRanking?: readonly ItemResult[];
}

async function examineBank(
  { examiners, ownRanking }: EvaluationParts,
  { probes, questions }: WindowArtifact,
  bank: Retrievable & { list(): Promise<Listing> },
): Promise<ExamResults> {
  const items = [...probes, ...questions];
  const native = await sitExam(items, bank, examiners);
  if (ownRanking === undefined) return { native };
  const ranked = rankListing(await bank.list(), ownRanking);
  return { native, ownRanking: await sitExam(items, ranked, examiners) };
}

/** A rollout that is evaluated alone holds all item faults of its window; that alone does not make it the culprit. */
function alone(options: RewardOptions): RewardOptions {
  return { ...options, rolloutFaultShare: 1 };
}

function bankDirectory({ directory }: EvaluationParts, { window }: WindowArtifact): string {
  return join(directory, fileNameOf(window.id));
}
