/** The figures of a data set at a glance, for `memwriter data inspect`. */
import type { UserStream } from '../core/annotation.ts';
import { type Category, categorySchema, type WindowArtifact } from '../core/exam.ts';
import { turnsOf } from './turns.ts';

export interface DataSummary {
  readonly users: number;
  readonly sessions: number;
  readonly messages: number;
  readonly turns: number;
  readonly chunks: number;
  readonly windows: number;
  readonly chunkTokens: number;
  readonly oversizedChunks: number;
  readonly recallProbes: number;
  readonly traps: number;
  /** Only categories that occur. */
  readonly probesByCategory: Readonly<Partial<Record<Category, number>>>;
  /** Share of chunks with at least one trap; the paper's is 0.149. Absent without chunks. */
  readonly trapCoverage?: number;
  /** Share of chunks with at least one probe of any kind. Absent without chunks. */
  readonly probeCoverage?: number;
  readonly questions: number;
  /** References by questions; a fact counts once for every question it is part of. */
  readonly goldFacts: number;
}

export function summarise(
  streams: readonly UserStream[],
  artifacts: readonly WindowArtifact[],
): DataSummary {
  const sessions = streams.flatMap((stream) => stream.sessions);
  const chunks = artifacts.flatMap(({ window }) => window.chunks);
  const probes = artifacts.flatMap((artifact) => artifact.probes);
  const questions = artifacts.flatMap((artifact) => artifact.questions);
  const traps = probes.filter(({ kind }) => kind === 'trap');
  const share = (of: readonly { chunkId: string }[]): number =>
    new Set(of.map(({ chunkId }) => chunkId)).size / chunks.length;
  const byCategory = categorySchema.options
    .map((category) => [category, probes.filter((p) => p.category === category).length] as const)
    .filter(([, count]) => count > 0);
  return {
    users: streams.length,
    sessions: sessions.length,
    messages: sum(sessions.map(({ messages }) => messages.length)),
    turns: sum(sessions.map(({ messages }) => turnsOf(messages).length)),
    chunks: chunks.length,
    windows: artifacts.length,
    chunkTokens: sum(chunks.map(({ tokens }) => tokens)),
    oversizedChunks: chunks.filter(({ oversized }) => oversized).length,
    recallProbes: probes.length - traps.length,
    traps: traps.length,
    probesByCategory: Object.fromEntries(byCategory),
    ...(chunks.length === 0 ? {} : { trapCoverage: share(traps), probeCoverage: share(probes) }),
    questions: questions.length,
    goldFacts: sum(questions.map(({ goldFacts }) => goldFacts.length)),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
