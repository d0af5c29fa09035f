/** What a step's line says: a term that does not exist is left out, never counted as 0. */
import { expect, test } from 'vitest';
import { sampleCall, sampleRollout } from '../testing/sample-records.ts';
import { distinctBanks, scoreMetrics, withConfigurations } from './metrics.ts';

const score = { pen: 0, malformed: 0, voidedTerms: [], score: 0 };

test('absent terms are in no mean', () => {
  const rollout = sampleRollout({
    scores_T: [{ ...score, prm: 0.5, score: 0.5 }, { ...score, orm: 1, score: 2 }, score],
    total: 2.5,
  });
  expect(scoreMetrics([rollout])).toMatchObject({
    prm: 0.5,
    orm: 1,
    chunkScore: 2.5 / 3,
    total: 2.5,
  });
  expect(scoreMetrics([sampleRollout()])).toMatchObject({ prm: undefined, orm: undefined });
});

test('faulted rollouts and calls made while reading count in no mean', () => {
  const [write] = sampleRollout().writes_T;
  if (write === undefined) throw new Error('no write');
  const bad = { kind: 'policy-error' as const, reasons: ['truncated' as const] };
  const calls = [sampleCall(), sampleCall({ purpose: 'retrieve', outcome: bad })];
  const valid = sampleRollout({ bankTokens: 7, writes_T: [{ ...write, calls }] });
  const { total: _, ...lost } = sampleRollout({
    outcome: { kind: 'fault', boundary: 'harness', message: 'down' },
    writes_T: [],
    scores_T: [],
    bankTokens: 0,
  });
  expect(scoreMetrics([valid, lost])).toMatchObject({
    chunkScore: 0.5,
    total: 0.5,
    bankTokens: 7,
    malformedCalls: 0,
    malformedWrites: 0,
  });
  expect(distinctBanks([[valid, lost]])).toBe(1);
});

test('of several configurations each has its own columns; one alone has none', () => {
  const of = (configuration: string, total: number) => sampleRollout({ configuration, total });
  const both = withConfigurations([of('mem0', 1), of('memos', 3), of('memos', 5)], scoreMetrics);
  expect(both).toMatchObject({ total: 3, 'total/mem0': 1, 'total/memos': 4 });
  const alone = withConfigurations([of('mem0', 1)], scoreMetrics);
  expect(Object.keys(alone).filter((name) => name.includes('/'))).toEqual([]);
});
