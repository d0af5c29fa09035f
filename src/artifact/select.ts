/** Caps a chunk's probes deterministically: ≤ 3 recall probes and 1 trap by default (definitions §2). */
import { type Category, categorySchema, type Probe, type WindowArtifact } from '../core/exam.ts';
import { sha256 } from '../lib/hash.ts';

export interface SelectOptions {
  readonly recallPerChunk: number;
  readonly trapsPerChunk: number;
}

export const SELECT_DEFAULTS: SelectOptions = { recallPerChunk: 3, trapsPerChunk: 1 };

export interface KindCounts {
  readonly offered: number;
  readonly kept: number;
}

export interface Selection {
  readonly artifacts: readonly WindowArtifact[];
  readonly counts: {
    readonly recall: KindCounts;
    readonly traps: KindCounts;
    /** Recall probes and traps by category; only categories that were offered. */
    readonly categories: Readonly<Partial<Record<Category, KindCounts>>>;
  };
}

/** Kept probes stay in their order. Questions are not capped. */
export function selectProbes(
  artifacts: readonly WindowArtifact[],
  options: SelectOptions = SELECT_DEFAULTS,
): Selection {
  const selected = artifacts.map((artifact) => {
    const kept = new Set(
      artifact.window.chunks.flatMap(({ id }) =>
        selectOfChunk(
          artifact.probes.filter((probe) => probe.chunkId === id),
          options,
        ),
      ),
    );
    return { ...artifact, probes: artifact.probes.filter((probe) => kept.has(probe)) };
  });
  const offered = artifacts.flatMap(({ probes }) => probes);
  const kept = selected.flatMap(({ probes }) => probes);
  return { artifacts: selected, counts: countKinds(offered, kept) };
}

function selectOfChunk(probes: readonly Probe[], options: SelectOptions): Probe[] {
  const recall = probes.filter(({ kind }) => kind === 'recall');
  const traps = probes.filter(({ kind }) => kind === 'trap').sort(byMargin);
  return [
    ...roundRobin(recall).slice(0, options.recallPerChunk),
    ...traps.slice(0, options.trapsPerChunk),
  ];
}

/** One of each category present, in the categories' own order, then the second of each, and so on. */
function roundRobin(probes: readonly Probe[]): Probe[] {
  const queues = categorySchema.options.map((category) =>
    probes.filter((probe) => probe.category === category).sort(byMargin),
  );
  const rounds = Math.max(...queues.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) =>
    queues.flatMap((queue) => queue.slice(round, round + 1)),
  ).flat();
}

function byMargin(a: Probe, b: Probe): number {
  if (a.margin !== b.margin) return b.margin - a.margin;
  return sha256(a.id) < sha256(b.id) ? -1 : 1;
}

function countKinds(offered: readonly Probe[], kept: readonly Probe[]): Selection['counts'] {
  const count = (matches: (probe: Probe) => boolean): KindCounts => ({
    offered: offered.filter(matches).length,
    kept: kept.filter(matches).length,
  });
  const present = categorySchema.options.filter((category) =>
    offered.some((probe) => probe.category === category),
  );
  return {
    recall: count(({ kind }) => kind === 'recall'),
    traps: count(({ kind }) => kind === 'trap'),
    categories: Object.fromEntries(
      present.map((category) => [category, count((probe) => probe.category === category)]),
    ),
  };
}
