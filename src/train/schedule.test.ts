/** The schedule is a function of its options and the records: nothing is left out, chains stay in order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Scene } from '../core/conversation.ts';
import type { WindowArtifact } from '../core/exam.ts';
import type { RowRecord, StepRecord } from '../store/schema.ts';
import { createToyWorld } from '../testing/toy-world.ts';
import { toChunkWindows } from './chunk-windows.ts';
import { type PlannedRow, type ScenesOf, Schedule } from './schedule.ts';

const artifacts = createToyWorld({ seed: 'w', users: 3, windowsPerUser: 2, chunksPerWindow: 2 });
const configurations = ['mem0', 'memos'];
const options = { seed: 's', steps: 12, rowsPerStep: 4, configurations };

const chat: ScenesOf = () => ['chat'];

type Fate = 'promoted' | 'void' | 'skipped';

function record(
  step: number,
  rows: readonly PlannedRow[],
  fate: (row: PlannedRow) => Fate,
): StepRecord {
  return {
    step,
    outcome: { kind: 'updated' },
    rows: rows.map((row): RowRecord => {
      const { configuration, sequence, windowIndex, attempt } = row;
      const windowId = row.artifact.window.id;
      const place = { configuration, sequence, windowId, windowIndex, attempt };
      const hash = `${configuration}/${sequence}/${windowId}`;
      const promoted = { kind: 'promoted' as const, index: 0, hash, bankTokens: 1 };
      const outcome =
        fate(row) === 'promoted'
          ? promoted
          : { kind: 'void' as const, skipped: fate(row) === 'skipped' };
      return { ...place, parentHash: row.parentHash ?? 'empty', outcome };
    }),
    policyVersion: 0,
    metrics: {},
    faults: { rollouts: {}, items: {} },
    files: {},
    checkpoint: true,
  };
}

function play(steps: number, fate: (row: PlannedRow) => Fate = () => 'promoted'): PlannedRow[][] {
  const schedule = new Schedule(artifacts, options, chat);
  const records: StepRecord[] = [];
  return Array.from({ length: steps }, (_, step) => {
    const rows = schedule.plan(records);
    records.push(record(step, rows, fate));
    return rows;
  });
}

test('configurations are interleaved and every (window, configuration) comes once a replica', () => {
  const rows = play(3).flat();
  const keys = rows.map((row) => `${row.configuration} ${row.artifact.window.id}`);
  expect(new Set(keys).size).toBe(12);
  for (const step of play(6)) {
    expect(new Set(step.map(({ configuration }) => configuration))).toEqual(
      new Set(configurations),
    );
    expect(new Set(step.map((row) => row.configuration + row.sequence)).size).toBe(step.length);
  }
});

test('a window starts from the bank promoted before it; a replica starts empty', () => {
  for (const row of play(9).flat()) {
    const previous = artifacts.find(
      ({ window }) =>
        window.userId === row.artifact.window.userId && window.index === row.windowIndex - 1,
    );
    const expected = previous && `${row.configuration}/${row.sequence}/${previous.window.id}`;
    expect(row.parentHash).toBe(expected);
  }
});

test('a void window is tried again with its parent unchanged; a skipped one is left behind', () => {
  const steps = play(9, ({ attempt, windowIndex }) =>
    windowIndex === 0 ? 'promoted' : attempt < 2 ? 'void' : 'skipped',
  );
  const second = steps.flat().filter(({ windowIndex }) => windowIndex === 1);
  const chain = second.filter(
    ({ configuration, sequence }) =>
      configuration === second[0]?.configuration && sequence === second[0]?.sequence,
  );
  expect(chain.map(({ attempt }) => attempt)).toEqual([0, 1, 2]);
  expect(new Set(chain.map(({ parentHash }) => parentHash)).size).toBe(1);
});

test('a replica whose first window is skipped goes on from the empty bank, not from the replica before', () => {
  const steps = play(12, ({ sequence, windowIndex, attempt }) => {
    if (windowIndex > 0 || sequence.endsWith('/0')) return 'promoted';
    return attempt < 2 ? 'void' : 'skipped';
  });
  const followers = steps
    .flat()
    .filter(({ sequence, windowIndex }) => sequence.endsWith('/1') && windowIndex === 1);
  expect(followers.length).toBeGreaterThan(0);
  expect(followers.map(({ parentHash }) => parentHash)).toEqual(followers.map(() => undefined));
});

test('BR-65: the plan after any number of records is that of the uninterrupted run', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom<Fate>('promoted', 'void', 'skipped')), (fates) => {
      const fate = ({ artifact, attempt }: PlannedRow): Fate =>
        fates[(artifact.window.index + attempt) % Math.max(1, fates.length)] ?? 'promoted';
      const whole = play(5, fate);
      const records = whole.slice(0, 4).map((rows, step) => record(step, rows, fate));
      expect(new Schedule(artifacts, options, chat).plan(records)).toEqual(whole[4]);
    }),
  );
});

test('silent failure 4: a configuration that the steps never reach is refused by name', () => {
  const short = { ...options, steps: 1, rowsPerStep: 1 };
  expect(() => new Schedule(artifacts, short, chat)).toThrow('"memos" is never reached');
});

test('a configuration gets the users of its scenes, in turn with the others; without any it is refused by name', () => {
  const mixed = artifacts.map((artifact) =>
    artifact.window.userId === 'user0' ? artifact : inScene(artifact, 'coding'),
  );
  const scenesOf: ScenesOf = (name) => (name === 'mem0' ? ['chat', 'coding'] : ['coding']);
  const rows = new Schedule(mixed, options, scenesOf).plan([]);
  expect(rows.map(({ configuration }) => configuration)).toEqual([
    'mem0',
    'memos',
    'mem0',
    'memos',
  ]);
  const coders = rows.filter(({ configuration }) => configuration === 'memos');
  expect(coders.map(({ sequence }) => sequence).sort()).toEqual(['user1/0', 'user2/0']);
  const working: ScenesOf = (name) => (name === 'mem0' ? ['chat', 'coding'] : ['working']);
  expect(() => new Schedule(mixed, options, working)).toThrow(
    '"memos" has nothing to train on: it takes sessions of working only',
  );
});

function inScene(artifact: WindowArtifact, scene: Scene): WindowArtifact {
  const { window } = artifact;
  return {
    ...artifact,
    window: { ...window, chunks: window.chunks.map((c) => ({ ...c, scene })) },
  };
}

test('another seed orders the users otherwise', () => {
  const orders = ['a', 'b', 'c', 'd'].map((seed) =>
    new Schedule(artifacts, { ...options, seed }, chat)
      .plan([])
      .map(({ sequence }) => sequence)
      .join(),
  );
  expect(new Set(orders).size).toBeGreaterThan(1);
});

test('stage 1 takes a user’s chunks one by one in stream order', () => {
  const windows = toChunkWindows(artifacts).filter(({ window }) => window.userId === 'user0');
  expect(windows.map(({ window }) => window.index)).toEqual([0, 1, 2, 3]);
  expect(windows.map(({ window }) => window.chunks.length)).toEqual([1, 1, 1, 1]);
});
