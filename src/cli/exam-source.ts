/** From a data configuration to what a run needs: users with windows, the probes and questions of each, and what was left out. */
import { attachItems } from '../artifact/attach.ts';
import { selectProbes } from '../artifact/select.ts';
import type { UserExam } from '../bench/evaluate.ts';
import type { UserStream } from '../core/annotation.ts';
import { type Scene, sceneSchema } from '../core/conversation.ts';
import type { WindowArtifact } from '../core/exam.ts';
import { detectSource } from '../data/detect.ts';
import { type LocomoSource, readLocomo } from '../data/locomo.ts';
import { windowsOfStream } from '../data/windows.ts';
import { type WorldOptions, worldOptionsSchema, worldPresets } from '../world/options.ts';
import { createWorld } from '../world/world.ts';
import type { DataOptions } from './config.ts';
import { parseInput } from './config-file.ts';
import { BadInputError } from './exit-codes.ts';

export interface DataCounts {
  readonly users: number;
  readonly windows: number;
  readonly chunks: number;
  /** Recall probes, traps and cross-chunk questions in the exam. */
  readonly probes: number;
  readonly traps: number;
  readonly questions: number;
  /** Questions of the source without a usable citation. */
  readonly unresolved: number;
  /** Items that no chunk can be asked for. */
  readonly unplaced: number;
  /** Probes and traps above the caps of `data.select`. */
  readonly notSelected: number;
  /** Users with sessions that the framework is not for. */
  readonly otherScenes: number;
}

export interface ExamSource {
  readonly users: readonly UserExam[];
  readonly counts: DataCounts;
}

/** `scenes` are those that the framework is for: users with any other session sit no exam. All by default. */
export async function loadUserExams(
  data: DataOptions,
  countTokens: (text: string) => number,
  scenes: readonly Scene[] = sceneSchema.options,
): Promise<ExamSource> {
  const { streams: all, unresolved } = await loadStreams(data);
  const streams = all.filter(({ sessions }) =>
    sessions.every(({ scene }) => scenes.includes(scene)),
  );
  if (streams.length === 0) {
    throw new BadInputError(
      `nobody to examine: the framework is for sessions of ${scenes.join(', ')} only, and no user has just those (data.world.scene says what a world holds)`,
    );
  }
  const exams = streams.map((stream) => {
    const windows = windowsOfStream(stream, { ...data.chunking, countTokens });
    const { artifacts, unplaced } = attachItems(stream, windows);
    const selection = selectProbes(artifacts, data.select);
    const { recall, traps } = selection.counts;
    return {
      user: { userId: stream.userId, artifacts: selection.artifacts },
      unplaced: unplaced.length,
      notSelected: recall.offered - recall.kept + traps.offered - traps.kept,
    };
  });
  return {
    users: exams.map(({ user }) => user),
    counts: {
      users: exams.length,
      ...countExam(exams.flatMap(({ user }) => user.artifacts)),
      unresolved,
      unplaced: sum(exams.map(({ unplaced }) => unplaced)),
      notSelected: sum(exams.map(({ notSelected }) => notSelected)),
      otherScenes: all.length - streams.length,
    },
  };
}

/** One line where the source has items that are in no exam for want of a place in it. */
export function leftOutText(counts: DataCounts): string | undefined {
  const { unresolved, unplaced, otherScenes } = counts;
  const items = `${unresolved} questions without a usable citation, ${unplaced} items that no chunk can be asked for`;
  const users = `${otherScenes} users with sessions of a scene that the framework is not for`;
  const parts = [
    ...(unresolved + unplaced > 0 ? [items] : []),
    ...(otherScenes > 0 ? [users] : []),
  ];
  return parts.length === 0 ? undefined : `in no exam: ${parts.join('; ')}`;
}

/** A preset with the fields that differ from it. */
export function worldOf({ preset, world }: Extract<DataOptions, { kind: 'world' }>): WorldOptions {
  return parseInput(
    worldOptionsSchema,
    { ...worldPresets[preset], ...world },
    { where: `data.world of preset ${preset}` },
  );
}

function countExam(
  artifacts: readonly WindowArtifact[],
): Pick<DataCounts, 'windows' | 'chunks' | 'probes' | 'traps' | 'questions'> {
  const probes = artifacts.flatMap(({ probes }) => probes);
  return {
    windows: artifacts.length,
    chunks: sum(artifacts.map(({ window }) => window.chunks.length)),
    probes: probes.filter(({ kind }) => kind === 'recall').length,
    traps: probes.filter(({ kind }) => kind === 'trap').length,
    questions: sum(artifacts.map(({ questions }) => questions.length)),
  };
}

interface Streams {
  readonly streams: readonly UserStream[];
  readonly unresolved: number;
}

async function loadStreams(data: DataOptions): Promise<Streams> {
  switch (data.kind) {
    case 'world':
      return { streams: createWorld(worldOf(data)), unresolved: 0 };
    case 'locomo':
      return chooseConversations(await readSource(data.file), data);
    default:
      return data satisfies never;
  }
}

async function readSource(file: string): Promise<LocomoSource> {
  if ((await detectSource(file)) === 'locomo') return await readLocomo(file);
  throw new BadInputError(
    `${file} is not a LoCoMo file. Sessions as JSONL hold no questions, so nothing in them can be scored: "memwriter data inspect" shows what a file holds`,
  );
}

function chooseConversations(
  source: LocomoSource,
  { conversations, file }: Extract<DataOptions, { kind: 'locomo' }>,
): Streams {
  const streams =
    conversations?.map((index) => pickConversation(source.streams, index, file)) ?? source.streams;
  const chosen = streams.map(({ userId }) => `${userId}/`);
  const unresolved = source.unresolved.filter(({ itemId }) =>
    chosen.some((prefix) => itemId.startsWith(prefix)),
  );
  return { streams, unresolved: unresolved.length };
}

function pickConversation(streams: readonly UserStream[], index: number, file: string): UserStream {
  const stream = streams[index];
  if (stream === undefined) {
    throw new BadInputError(
      `${file} has no conversation ${index}: choose from 0 to ${streams.length - 1}`,
    );
  }
  return stream;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
