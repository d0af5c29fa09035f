/** Users whose messages are plainly facts or chatter, with probes on both, and an exam that reads by key. */
import type { Probe, WindowArtifact } from '../core/exam.ts';
import { createExamCache } from '../exam/cache.ts';
import type { Examiners } from '../exam/sit.ts';
import { createPool } from '../lib/pool.ts';
import { createRng } from '../lib/rng.ts';
import { toyTokenizer } from './toy-tokens.ts';

const NO_RECORD = 'no record';

export interface ToyWorldOptions {
  readonly seed: string;
  readonly users: number;
  readonly windowsPerUser: number;
  readonly chunksPerWindow: number;
}

/** Windows of every user in order, all of one shape. */
export function createToyWorld(options: ToyWorldOptions): WindowArtifact[] {
  const rng = createRng(options.seed);
  const artifacts: WindowArtifact[] = [];
  for (let u = 0; u < options.users; u++) {
    for (let w = 0; w < options.windowsPerUser; w++) {
      const at = `2024-03-${String(1 + w).padStart(2, '0')}T10:00:00+01:00`;
      artifacts.push(createWindow(`user${u}`, w, { ...options, at, rng }));
    }
  }
  return artifacts;
}

function createWindow(
  userId: string,
  index: number,
  { chunksPerWindow, at, rng }: ToyWorldOptions & { at: string; rng: ReturnType<typeof createRng> },
): WindowArtifact {
  const id = `${userId}/w${index}`;
  const probes: Probe[] = [];
  const chunks = Array.from({ length: chunksPerWindow }, (_, t) => {
    const chunkId = `${id}/c${t}`;
    const kinds = rng.shuffle(['FACT', 'FACT', 'CHAT', 'CHAT', 'CHAT']);
    const messages = kinds.map((kind, m) => {
      const key = `key-${chunkId}-${m}`;
      const value = `v${rng.int(1000, 9999)}`;
      probes.push(probeOf(kind, { chunkId, key, value }));
      return { id: `${chunkId}/m${m}`, role: 'user' as const, text: `${kind} ${key} is ${value}` };
    });
    const tokens = toyTokenizer.count(messages.map(({ text }) => text).join(' '));
    const position = index * chunksPerWindow + t;
    const place = { id: chunkId, userId, sessionId: `${userId}/s${index}`, index: position, at };
    return { ...place, scene: 'chat' as const, messages, tokens, oversized: false };
  });
  return { window: { id, userId, index, chunks }, probes, questions: [] };
}

function probeOf(kind: string, on: { chunkId: string; key: string; value: string }): Probe {
  const common = {
    id: `probe-${on.key}`,
    question: on.key,
    reference: kind === 'FACT' ? on.value : NO_RECORD,
    rubric: [{ id: 'value', text: on.value, weight: 1 }],
    chunkId: on.chunkId,
    facets: {},
    margin: 0,
  };
  return kind === 'FACT'
    ? { kind: 'recall', category: 'specificity', ...common }
    : { kind: 'trap', category: 'should-not-store', ...common };
}

/** The reader repeats the line with the key; the judge wants the value for a recall probe and silence for a trap. */
export function createToyExaminers(): Examiners {
  return {
    reader: {
      name: 'toy-reader',
      answer: async (question, block) =>
        block.split('\n').find((line) => line.includes(`${question} `)) ?? NO_RECORD,
    },
    judge: {
      name: 'toy-judge',
      grade: async (item, answer) => {
        const right = item.kind === 'trap' ? answer === NO_RECORD : answer.endsWith(item.reference);
        return { verdicts: { value: right ? 1 : 0 }, credits: {} };
      },
    },
    cache: createExamCache(),
    pool: createPool(8),
  };
}
