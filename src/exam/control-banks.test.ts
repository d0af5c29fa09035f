/** Reader, judge and world together: what an ideal, an empty and a verbatim bank are worth. */
import { expect, test } from 'vitest';
import { type AnnotatedItem, annotatedItemSchema } from '../core/annotation.ts';
import { renderMessage } from '../core/conversation.ts';
import { type ExamItem, probeSchema, questionSchema } from '../core/exam.ts';
import { itemScore } from '../core/grade.ts';
import { createRng } from '../lib/rng.ts';
import { CAREFUL, clerkMemories } from '../world/clerk.ts';
import { worldPresets } from '../world/options.ts';
import type { WorldUser } from '../world/truth.ts';
import { createWorldUser } from '../world/world.ts';
import { gradeByRule } from './rule-judge.ts';
import { createRuleReader } from './rule-reader.ts';

const reader = createRuleReader();
const users = Array.from({ length: 5 }, (_, index) =>
  createWorldUser({ ...worldPresets.demo, seed: 7, split: 'eval' }, index),
);
type Bank = (user: WorldUser, session: number) => readonly string[];

const ideal: Bank = (user, session) =>
  user.truth
    .slice(session, session + 1)
    .flatMap((truth) => [...clerkMemories(truth, CAREFUL, createRng('careful'))]);
const verbatim: Bank = (user, session) =>
  user.sessions.slice(session, session + 1).flatMap(({ messages }) => messages.map(renderMessage));

/** Chunks do not matter to reader and judge. */
function examItem(annotated: AnnotatedItem): ExamItem {
  const item = annotatedItemSchema.parse(annotated);
  if (item.kind === 'trap') {
    return probeSchema.parse({ ...item, chunkId: 'c', category: 'should-not-store' });
  }
  if (item.kind === 'recall') return probeSchema.parse({ ...item, chunkId: 'c' });
  const goldFacts = item.goldFacts.map((fact) => ({ ...fact, chunkId: 'c' }));
  return questionSchema.parse({ ...item, goldFacts, evidenceChunkIds: ['c'] });
}

async function meanScores(bank: Bank): Promise<Record<ExamItem['kind'], number>> {
  const scores: Record<ExamItem['kind'], number[]> = { recall: [], trap: [], question: [] };
  for (const user of users) {
    const block = user.sessions
      .flatMap(({ at }, s) => bank(user, s).map((text) => `${at.slice(0, 10)}: ${text}`))
      .join('\n');
    for (const item of user.items.map(examItem)) {
      const answer = await reader.answer(item.question, block);
      scores[item.kind].push(itemScore(item, gradeByRule(item, answer).verdicts));
    }
  }
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return { recall: mean(scores.recall), trap: mean(scores.trap), question: mean(scores.question) };
}

test('an ideal bank answers nearly everything and refuses the traps', async () => {
  const { recall, trap, question } = await meanScores(ideal);
  expect(recall).toBeGreaterThanOrEqual(0.95);
  expect(question).toBeGreaterThanOrEqual(0.95);
  expect(trap).toBeGreaterThanOrEqual(0.98);
});

test('an empty bank knows nothing and refuses every trap', async () => {
  expect(await meanScores(() => [])).toEqual({ recall: 0, question: 0, trap: 1 });
});

test('BR-47: a verbatim bank recalls most and falls into nearly every trap', async () => {
  const { recall, trap } = await meanScores(verbatim);
  expect(recall).toBeGreaterThanOrEqual(0.8);
  expect(recall).toBeLessThan(0.95);
  expect(trap).toBeLessThanOrEqual(0.1);
});
