/** Rollouts of one group and their exams become scored rollouts: the step between exam and credit. */
import type { Half, ItemResult, WindowArtifact } from '../core/exam.ts';
import type { Rollout, ScoredRollout } from '../core/trace.ts';
import { chunkScore } from './chunk-score.ts';
import { settleItemFaults } from './item-faults.ts';
import type { RewardOptions } from './options.ts';
import { broadcastTerm, type Credits, outcomeTerm } from './orm.ts';
import { probesOf, processTerm, type Scores } from './prm.ts';

export interface GroupExamResults {
  readonly artifact: WindowArtifact;
  /** One list a rollout, in the order of the rollouts; a faulted rollout's list is not read. */
  readonly results_G: readonly (readonly ItemResult[])[];
}

/**
 * Scores the rollouts of one window, configuration and sequence together. A faulted rollout keeps no score. Throws where
 * a valid rollout lacks a write of a chunk or a result of an item: what was planned is never quietly left out.
 */
export function scoreGroup(
  rollouts: readonly Rollout[],
  { artifact, results_G }: GroupExamResults,
  options: RewardOptions,
): ScoredRollout[] {
  if (rollouts.length !== results_G.length) {
    throw new Error(`${rollouts.length} rollouts but ${results_G.length} exam results`);
  }
  const entries = rollouts.map((rollout, i) => ({ rollout, results: results_G[i] ?? [] }));
  const valid = entries.filter(({ rollout }) => rollout.outcome.kind === 'ok');
  for (const { rollout, results } of valid) assertComplete(rollout, results, artifact);
  const exam = settleItemFaults(
    valid.map(({ results }) => results),
    options.rolloutFaultShare,
  );
  const culprit = exam.faulted && valid[exam.faulted.index];
  return entries.map((entry): ScoredRollout => {
    const { rollout, results } = entry;
    const unscored = { results: [...results], scores_T: [] };
    if (rollout.outcome.kind === 'fault') return { ...rollout, ...unscored };
    if (exam.faulted && entry === culprit) {
      return { ...rollout, ...unscored, outcome: exam.faulted.fault };
    }
    return scoreRollout(rollout, { artifact, results, removed: exam.removed }, options);
  });
}

interface RolloutExam {
  readonly artifact: WindowArtifact;
  readonly results: readonly ItemResult[];
  readonly removed: ReadonlySet<string>;
}

function scoreRollout(
  rollout: Rollout,
  { artifact, results, removed }: RolloutExam,
  options: RewardOptions,
): ScoredRollout {
  const { scores, credits } = gradesOf(results, removed);
  const scores_T = rollout.writes_T.map((write) => {
    const prm = processTerm(probesOf(write.chunkId, artifact.probes, options), scores);
    const orm =
      options.arm === 'broadcast-orm'
        ? broadcastTerm(artifact.questions, scores)
        : outcomeTerm(artifact.questions, write.chunkId, credits);
    return chunkScore(write, { prm, orm }, options);
  });
  const total = scores_T.reduce((sum, { score }) => sum + score, 0);
  return { ...rollout, results: [...results], scores_T, total };
}

function gradesOf(
  results: readonly ItemResult[],
  removed: ReadonlySet<string>,
): { readonly scores: Scores; readonly credits: Credits } {
  const scores = new Map<string, number>();
  const credits = new Map<string, Readonly<Record<string, Half>>>();
  for (const { itemId, result } of results) {
    if (result.kind === 'fault' || removed.has(itemId)) continue;
    scores.set(itemId, result.score);
    credits.set(itemId, result.credits);
  }
  return { scores, credits };
}

function assertComplete(
  rollout: Rollout,
  results: readonly ItemResult[],
  { window, probes, questions }: WindowArtifact,
): void {
  const name = `rollout ${rollout.index} of window ${rollout.windowId}`;
  if (rollout.windowId !== window.id) throw new Error(`${name} scored as window ${window.id}`);
  const written = rollout.writes_T.map(({ chunkId }) => chunkId).join(', ');
  const planned = window.chunks.map(({ id }) => id).join(', ');
  if (written !== planned) throw new Error(`${name} wrote chunks [${written}], not [${planned}]`);
  const examined = new Set(results.map(({ itemId }) => itemId));
  if (examined.size !== results.length) throw new Error(`${name} has two results of one item`);
  for (const { id } of [...probes, ...questions]) {
    if (!examined.has(id)) throw new Error(`${name} has no result of item ${id}`);
  }
}
