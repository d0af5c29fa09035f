/** The figures that `data inspect` prints. */
import { expect, test } from 'vitest';
import type { Session } from '../core/conversation.ts';
import type { Probe, Question } from '../core/exam.ts';
import { summarise } from './summary.ts';
import { windowsOfStream } from './windows.ts';

const session: Session = {
  id: 's',
  userId: 'ann',
  at: '2024-05-08T20:15:00Z',
  scene: 'chat',
  messages: Array.from({ length: 40 }, (_, i) => ({
    id: `m${i}`,
    role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
    text: 'one two',
  })),
};
const text = { question: 'q', reference: 'r', facets: {} };
const rubric = [{ id: 'c', text: 'c', weight: 1 }];
const probe = (id: string, kind: Probe['kind'], chunkId: string): Probe => {
  const base = { id, ...text, rubric, chunkId, margin: 0 };
  return kind === 'trap'
    ? { kind, ...base, category: 'should-not-store' }
    : { kind, ...base, category: 'specificity' };
};

test('counts, categories and coverage', () => {
  const stream = { userId: 'ann', sessions: [session], items: [] };
  const options = { countTokens: (t: string) => t.length, turnsPerChunk: 10, maxChunkTokens: 220 };
  const artifacts = windowsOfStream(stream, options).map((window) => {
    const question: Question = {
      kind: 'question',
      id: 'q1',
      ...text,
      rubric,
      evidenceChunkIds: ['ann/s/0', 'ann/s/1'],
      goldFacts: ['f', 'g'].map((id) => ({ id, chunkId: 'ann/s/0', text: id, weight: 1 })),
    };
    const probes = [
      probe('a', 'recall', 'ann/s/0'),
      probe('b', 'recall', 'ann/s/0'),
      probe('t', 'trap', 'ann/s/1'),
    ];
    return { window, probes, questions: [question] };
  });
  expect(summarise([stream], artifacts)).toEqual({
    users: 1,
    sessions: 1,
    messages: 40,
    turns: 20,
    chunks: 4,
    windows: 1,
    chunkTokens: 656,
    oversizedChunks: 0,
    recallProbes: 2,
    traps: 1,
    probesByCategory: { specificity: 2, 'should-not-store': 1 },
    trapCoverage: 0.25,
    probeCoverage: 0.5,
    questions: 1,
    goldFacts: 2,
  });
});

test('no data: counts are zero and shares are absent, not zero', () => {
  const summary = summarise([], []);
  expect(summary).toMatchObject({ users: 0, chunks: 0, probesByCategory: {} });
  expect(summary).not.toHaveProperty('trapCoverage');
});
