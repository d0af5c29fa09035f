/** Small, valid records for tests of reward and credit: each builder fills in what a test does not care about. */
import type { ItemResult, Probe, Question, WindowArtifact } from '../core/exam.ts';
import type { Fault } from '../core/outcome.ts';
import type { Call, ChunkScore, ChunkWrite, Rollout, ScoredRollout } from '../core/trace.ts';

export function aCall(overrides: Partial<Call> = {}, sampled = 2): Call {
  return {
    id: '0',
    purpose: 'write',
    stage: 'extract',
    messages: [],
    text: '{}',
    stopReason: 'stop',
    segment: {
      promptIds: [1, 2, 3],
      sampledIds: Array.from({ length: sampled }, (_, i) => i + 10),
      logprobs: Array.from({ length: sampled }, () => -0.5),
      policyVersion: 0,
    },
    outcome: { kind: 'ok' },
    durationMs: 1,
    ...overrides,
  };
}

export function aWrite(chunkId: string, overrides: Partial<ChunkWrite> = {}): ChunkWrite {
  return {
    chunkId,
    calls: [aCall()],
    ops: [],
    tokensBefore: 0,
    tokensAfter: 0,
    chunkTokens: 100,
    hashAfter: 'after',
    outcome: { kind: 'ok', recoveredMalformed: 0 },
    ...overrides,
  };
}

export function aRollout(writes_T: ChunkWrite[], overrides: Partial<Rollout> = {}): Rollout {
  return {
    windowId: 'w',
    configuration: 'mem0',
    sequence: 'user#0',
    index: 0,
    parentHash: 'parent',
    writes_T,
    finalHash: 'final',
    bankTokens: 0,
    outcome: { kind: 'ok' },
    ...overrides,
  };
}

export function aFault(boundary: Fault['boundary'] = 'judge', message = 'HTTP 503'): Fault {
  return { kind: 'fault', boundary, message };
}

const criterion = { id: 'k', text: 'says it', weight: 1 };

export function aProbe(id: string, chunkId: string, kind: Probe['kind'] = 'recall'): Probe {
  const item = { id, question: `${id}?`, reference: id, rubric: [criterion], chunkId };
  return kind === 'recall'
    ? { kind, ...item, category: 'specificity', facets: {}, margin: 0 }
    : { kind, ...item, category: 'should-not-store', facets: {}, margin: 0 };
}

/** Gold facts as `[id, chunkId, weight]`. */
export function aQuestion(
  id: string,
  facts: readonly (readonly [string, string, number])[],
): Question {
  return {
    kind: 'question',
    id,
    question: `${id}?`,
    reference: id,
    rubric: [criterion],
    evidenceChunkIds: facts.map(([, chunkId]) => chunkId),
    goldFacts: facts.map(([factId, chunkId, weight]) => ({
      id: factId,
      chunkId,
      text: factId,
      weight,
    })),
    facets: {},
  };
}

export function anArtifact(
  chunkIds: readonly string[],
  items: { readonly probes?: Probe[]; readonly questions?: Question[] },
): WindowArtifact {
  const { probes = [], questions = [] } = items;
  const chunks = chunkIds.map((id, index) => ({
    id,
    userId: 'user',
    sessionId: 's',
    index,
    at: '2024-05-08T20:15:00+02:00',
    scene: 'chat' as const,
    messages: [],
    tokens: 100,
    oversized: false,
  }));
  return { window: { id: 'w', userId: 'user', index: 0, chunks }, probes, questions };
}

export function graded(
  itemId: string,
  score: number,
  credits: Extract<ItemResult['result'], { kind: 'graded' }>['credits'] = {},
): ItemResult {
  return { itemId, answer: 'an answer', result: { kind: 'graded', score, credits } };
}

/** A valid rollout with these chunk scores. */
export function aScoredRollout(
  scores_T: readonly number[],
  overrides: Partial<ScoredRollout> = {},
): ScoredRollout {
  return {
    ...aRollout(scores_T.map((_, t) => aWrite(`c${t}`))),
    results: [],
    scores_T: scores_T.map(
      (score): ChunkScore => ({ prm: score, pen: 0, malformed: 0, voidedTerms: [], score }),
    ),
    total: scores_T.reduce((sum, score) => sum + score, 0),
    ...overrides,
  };
}
