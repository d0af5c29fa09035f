/** Which (window, configuration, sequence) a step trains on: a pure function of the options and the committed steps. */
import type { Scene } from '../core/conversation.ts';
import type { WindowArtifact } from '../core/exam.ts';
import { userOfSequence } from '../core/trace.ts';
import { createRng } from '../lib/rng.ts';
import { UserError } from '../lib/user-error.ts';
import type { RowRecord, StepRecord } from '../store/schema.ts';
import type { LoopOptions } from './options.ts';

/** One parent chain: a user's windows in order under one configuration, over and over. */
interface Lane {
  readonly configuration: string;
  readonly userId: string;
  readonly windows: readonly WindowArtifact[];
}

interface LaneState {
  /** Windows done or skipped since the start, over all replicas. */
  done: number;
  attempt: number;
  parentHash: string | undefined;
}

export interface PlannedRow {
  readonly configuration: string;
  /** `user/replica`: a replica starts from the empty bank. */
  readonly sequence: string;
  readonly artifact: WindowArtifact;
  readonly windowIndex: number;
  readonly attempt: number;
  /** Content of the bank to start from; undefined is the empty bank. */
  readonly parentHash: string | undefined;
}

type ScheduleOptions = Pick<LoopOptions, 'seed' | 'steps' | 'rowsPerStep' | 'configurations'>;

/** Scenes that a configuration is for. */
export type ScenesOf = (configuration: string) => readonly Scene[];

export class Schedule {
  /** Of each configuration its users' chains, in the order of the options. */
  readonly #lanes: readonly (readonly Lane[])[];
  readonly #rowsPerStep: number;

  /** Throws where the steps do not reach every configuration, or one of them has no user of its scenes. */
  constructor(artifacts: readonly WindowArtifact[], options: ScheduleOptions, scenesOf: ScenesOf) {
    this.#lanes = createLanes(artifacts, options, scenesOf);
    const fewest = Math.min(...this.#lanes.map(({ length }) => length));
    this.#rowsPerStep = Math.min(options.rowsPerStep, fewest * this.#lanes.length);
    const reached = options.steps * this.#rowsPerStep;
    const missed = options.configurations[reached];
    if (missed !== undefined) {
      throw new UserError(
        `configuration "${missed}" is never reached: plan more steps or more rows`,
      );
    }
  }

  /** The rows of the step after `records`, the configurations in turn: no two of one chain. */
  plan(records: readonly StepRecord[]): PlannedRow[] {
    const states = foldSteps(records);
    return Array.from({ length: this.#rowsPerStep }, (_, j) => {
      const turn = records.length * this.#rowsPerStep + j;
      const lanes = this.#lanes[turn % this.#lanes.length];
      const lane = lanes?.[Math.floor(turn / this.#lanes.length) % lanes.length];
      if (lane === undefined) throw new Error('schedule without lanes');
      return planRow(lane, states.get(laneKey(lane.configuration, lane.userId)));
    });
  }
}

/** Where every chain stands after the committed steps. */
function foldSteps(records: readonly StepRecord[]): Map<string, LaneState> {
  const states = new Map<string, LaneState>();
  for (const row of records.flatMap(({ rows }) => rows)) {
    const key = laneKey(row.configuration, userOfSequence(row.sequence));
    const state = states.get(key) ?? { done: 0, attempt: 0, parentHash: undefined };
    states.set(key, state);
    advance(state, row);
  }
  return states;
}

function advance(state: LaneState, { outcome, windowIndex }: RowRecord): void {
  if (windowIndex === 0) state.parentHash = undefined;
  if (outcome.kind === 'void' && !outcome.skipped) {
    state.attempt += 1;
    return;
  }
  state.done += 1;
  state.attempt = 0;
  if (outcome.kind === 'promoted') state.parentHash = outcome.hash;
}

function planRow(lane: Lane, state: LaneState | undefined): PlannedRow {
  const done = state === undefined ? 0 : state.done;
  const windowIndex = done % lane.windows.length;
  const artifact = lane.windows[windowIndex];
  if (artifact === undefined) throw new Error(`user ${lane.userId} has no windows`);
  return {
    configuration: lane.configuration,
    sequence: `${lane.userId}/${Math.floor(done / lane.windows.length)}`,
    artifact,
    windowIndex,
    attempt: state === undefined ? 0 : state.attempt,
    parentHash: windowIndex === 0 ? undefined : state?.parentHash,
  };
}

/** Users in a seeded order, the same for every configuration; each has those whose chunks are all of its scenes. */
function createLanes(
  artifacts: readonly WindowArtifact[],
  options: ScheduleOptions,
  scenesOf: ScenesOf,
): Lane[][] {
  const byUser = new Map<string, WindowArtifact[]>();
  for (const artifact of artifacts) {
    const { userId } = artifact.window;
    byUser.set(userId, [...(byUser.get(userId) ?? []), artifact]);
  }
  if (byUser.size === 0) throw new UserError('there is no window to train on');
  const users = createRng(options.seed)
    .fork('schedule')
    .shuffle([...byUser.keys()].sort());
  return options.configurations.map((configuration) => {
    const scenes = scenesOf(configuration);
    const lanes = users.flatMap((userId): Lane[] => {
      const windows = byUser.get(userId) ?? [];
      if (!windows.every((artifact) => isOf(scenes, artifact))) return [];
      const ordered = windows.toSorted((a, b) => a.window.index - b.window.index);
      return [{ configuration, userId, windows: ordered }];
    });
    if (lanes.length > 0) return lanes;
    throw new UserError(
      `configuration "${configuration}" has nothing to train on: it takes sessions of ${scenes.join(', ')} only, and no user has just those`,
    );
  });
}

function isOf(scenes: readonly Scene[], { window }: WindowArtifact): boolean {
  return window.chunks.every(({ scene }) => scenes.includes(scene));
}

function laneKey(configuration: string, userId: string): string {
  return JSON.stringify([configuration, userId]);
}
