/** A group scored together: terms, independent credits, and what an item fault does to everyone. */
import { describe, expect, test } from 'vitest';
import type { ItemResult } from '../core/exam.ts';
import {
  aFault,
  anArtifact,
  aProbe,
  aQuestion,
  aRollout,
  aWrite,
  graded,
} from '../testing/trace-builders.ts';
import { type RewardOptions, rewardOptionsSchema } from './options.ts';
import { scoreGroup } from './score-rollout.ts';

const options = rewardOptionsSchema.parse({});
const faulted = (itemId: string): ItemResult => ({ itemId, result: aFault() });
const chunkIds = ['c0', 'c1', 'c2', 'c3'];

function group(size: number): ReturnType<typeof aRollout>[] {
  return Array.from({ length: size }, (_, index) =>
    aRollout(
      chunkIds.map((id) => aWrite(id)),
      { index },
    ),
  );
}

function score(
  items: Parameters<typeof anArtifact>[1],
  results_G: ItemResult[][],
  arm: RewardOptions['arm'] = 'chunk',
) {
  const artifact = anArtifact(chunkIds, items);
  return scoreGroup(group(results_G.length), { artifact, results_G }, { ...options, arm });
}

describe('terms', () => {
  const probes = [aProbe('p1', 'c0'), aProbe('p2', 'c0'), aProbe('p3', 'c0', 'trap')];
  const results = [graded('p1', 1), graded('p2', 0.5), graded('p3', 0)];

  test('prm is the flat mean over probes, traps included', () => {
    const [rollout] = score({ probes }, [results]);
    expect(rollout?.scores_T.map(({ prm }) => prm)).toEqual([0.5, undefined, undefined, undefined]);
    expect(rollout?.total).toBe(0.5);
  });

  test('arm no-trap: prm is the mean over recall probes', () => {
    const [rollout] = score({ probes }, [results], 'no-trap');
    expect(rollout?.scores_T[0]?.prm).toBe(0.75);
  });

  test('a question citing chunks 1, 3 and 4 gives three independent credits', () => {
    const questions = [
      aQuestion('q', [
        ['f1', 'c0', 1],
        ['f2', 'c2', 1],
        ['f3', 'c2', 3],
        ['f4', 'c3', 2],
        ['old', 'before-the-window', 1],
      ]),
    ];
    const credits = { f1: 1, f2: 1, f3: 0, f4: 0.5, old: 0 } as const;
    const [rollout] = score({ questions }, [[graded('q', 0.5, credits)]]);
    expect(rollout?.scores_T.map(({ orm }) => orm)).toEqual([1, undefined, 0.25, 0.5]);
    expect(rollout?.scores_T.map((chunk) => chunk.score)).toEqual([2, 0, 0.5, 1]);
  });

  test('orm is the mean of c(q,t) over the questions with a gold fact from t', () => {
    const questions = [
      aQuestion('q1', [['a', 'c0', 1]]),
      aQuestion('q2', [['b', 'c0', 1]]),
      aQuestion('q3', [['c', 'c1', 1]]),
    ];
    const [rollout] = score({ questions }, [
      [graded('q1', 1, { a: 1 }), graded('q2', 0, { b: 0.5 }), graded('q3', 0, { c: 0 })],
    ]);
    expect(rollout?.scores_T[0]?.orm).toBe(0.75);
    expect(rollout?.scores_T[1]?.orm).toBe(0);
  });

  test('arm broadcast-orm: every chunk gets the mean rubric score', () => {
    const questions = [aQuestion('q1', [['a', 'c0', 1]]), aQuestion('q2', [['b', 'c1', 1]])];
    const [rollout] = score(
      { questions },
      [[graded('q1', 1, { a: 1 }), graded('q2', 0.5, { b: 0 })]],
      'broadcast-orm',
    );
    expect(rollout?.scores_T.map(({ orm }) => orm)).toEqual([0.75, 0.75, 0.75, 0.75]);
  });

  test('a gold fact without a credit is a bug, not a zero', () => {
    const questions = [aQuestion('q', [['f', 'c0', 1]])];
    expect(() => score({ questions }, [[graded('q', 1)]])).toThrow('no credit for gold fact f');
  });
});

describe('item faults', () => {
  const probes = [aProbe('p1', 'c0'), aProbe('p2', 'c0'), aProbe('p3', 'c1')];
  const all = [graded('p1', 1), graded('p2', 0), graded('p3', 1)];

  test('BR-48: an unscored probe is removed from every rollout of the group', () => {
    const scored = score({ probes }, [
      [faulted('p1'), graded('p2', 0), graded('p3', 1)],
      [graded('p1', 1), graded('p2', 1), faulted('p3')],
      all,
    ]);
    expect(scored.map(({ scores_T }) => scores_T[0]?.prm)).toEqual([0, 1, 0]);
    expect(scored.map(({ outcome }) => outcome.kind)).toEqual(['ok', 'ok', 'ok']);
  });

  test('a term emptied that way voids the column for every rollout', () => {
    const scored = score({ probes }, [
      [faulted('p1'), graded('p2', 0), graded('p3', 1)],
      [graded('p1', 1), graded('p2', 1), faulted('p3')],
      all,
    ]);
    for (const { scores_T } of scored) {
      expect(scores_T.map(({ voidedTerms }) => voidedTerms)).toEqual([[], ['prm'], [], []]);
      expect(scores_T[1]?.prm).toBeUndefined();
    }
  });

  test('a rollout with more than half of the faults is the fault, and the items return', () => {
    const scored = score({ probes }, [
      [faulted('p1'), faulted('p2'), graded('p3', 1)],
      [graded('p1', 1), graded('p2', 1), faulted('p3')],
      all,
    ]);
    expect(scored[0]?.outcome).toEqual({
      kind: 'fault',
      boundary: 'judge',
      message: "2 of the window's 3 item faults: HTTP 503",
    });
    expect(scored[0]?.scores_T).toEqual([]);
    expect(scored[0]).not.toHaveProperty('total');
    expect(scored[2]?.scores_T[0]?.prm).toBe(0.5);
    expect(scored[2]?.scores_T[1]?.voidedTerms).toEqual(['prm']);
  });

  test('exactly half is not more than half', () => {
    const scored = score({ probes }, [
      [faulted('p1'), graded('p2', 0), graded('p3', 1)],
      [graded('p1', 1), faulted('p2'), graded('p3', 1)],
    ]);
    expect(scored.map(({ outcome }) => outcome.kind)).toEqual(['ok', 'ok']);
    expect(scored[0]?.scores_T[0]?.voidedTerms).toEqual(['prm']);
  });

  test('a lone rollout has no siblings to be told from: it loses the item', () => {
    const [rollout] = score({ probes }, [[faulted('p1'), graded('p2', 0.5), graded('p3', 1)]]);
    expect(rollout?.outcome.kind).toBe('ok');
    expect(rollout?.scores_T[0]?.prm).toBe(0.5);
  });

  test('the items of a faulted rollout are not read', () => {
    const [first, ...others] = group(2);
    const rollouts = [{ ...first, writes_T: [], outcome: aFault('harness') }, ...others];
    const artifact = anArtifact(chunkIds, { probes });
    const scored = scoreGroup(
      rollouts.map((rollout) => ({ ...aRollout([]), ...rollout })),
      { artifact, results_G: [[faulted('p1')], all] },
      options,
    );
    expect(scored[0]?.scores_T).toEqual([]);
    expect(scored[1]?.scores_T[0]?.prm).toBe(0.5);
  });
});

test('what was planned is never quietly left out', () => {
  const probes = [aProbe('p1', 'c0')];
  expect(() => score({ probes }, [[]])).toThrow('no result of item p1');
  expect(() => score({ probes }, [[graded('p1', 1), graded('p1', 1)]])).toThrow('two results');
  const short = [aRollout([aWrite('c0')])];
  const artifact = anArtifact(chunkIds, {});
  expect(() => scoreGroup(short, { artifact, results_G: [[]] }, options)).toThrow('wrote chunks');
});

describe('BR-47: always saying "not mentioned" earns points', () => {
  const probes = [
    aProbe('r1', 'c0'),
    aProbe('r2', 'c0'),
    aProbe('r3', 'c0'),
    aProbe('t1', 'c0', 'trap'),
    aProbe('r4', 'c1'),
    aProbe('t2', 'c1', 'trap'),
  ];
  const recalls = ['r1', 'r2', 'r3', 'r4'];
  const traps = ['t1', 't2'];
  const exam = (recall: number, trap: number): ItemResult[] => [
    ...recalls.map((id) => graded(id, recall)),
    ...traps.map((id) => graded(id, trap)),
  ];

  test('an empty store scores the share of traps, below a writer that copies facts', () => {
    const [empty, copier, verbatim] = score({ probes }, [exam(0, 1), exam(1, 1), exam(1, 0)]);
    expect(empty?.scores_T.slice(0, 2).map(({ prm }) => prm)).toEqual([0.25, 0.5]);
    expect(copier?.scores_T.slice(0, 2).map(({ prm }) => prm)).toEqual([1, 1]);
    expect(empty?.total).toBeLessThan(copier?.total ?? Number.NaN);
    expect(verbatim?.total).toBe(1.25);
  });

  test('without traps the empty store earns nothing', () => {
    const [empty] = score({ probes }, [exam(0, 1)], 'no-trap');
    expect(empty?.total).toBe(0);
  });
});
