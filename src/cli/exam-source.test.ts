/** A data configuration decides how sessions are cut and what is asked; what is left out is counted. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createScratch } from '../testing/scratch.ts';
import { dataConfigSchema } from './config.ts';
import { type ExamSource, leftOutText, loadUserExams } from './exam-source.ts';

const countTokens = (text: string): number => text.split(/\s+/).length;
const TURNS = 12;

/** One session of 12 turns; two questions on its first turn, one without a citation. */
function conversation(name: string): object {
  const question = { answer: 'Graz', evidence: ['D1:1'], category: 4 };
  return {
    sample_id: name,
    conversation: {
      speaker_a: 'Ann',
      speaker_b: 'Ben',
      session_1_date_time: '1:56 pm on 8 May, 2023',
      session_1: Array.from({ length: TURNS }, (_, i) => ({
        speaker: i % 2 === 0 ? 'Ann' : 'Ben',
        dia_id: `D1:${i + 1}`,
        text: `I moved to Graz, said in turn ${i}.`,
      })),
    },
    qa: [
      { question: 'Where does Ann live?', ...question },
      { question: 'Which town is home?', ...question },
      { question: 'Where to?', ...question, evidence: [] },
    ],
  };
}

async function load(fields: object): Promise<ExamSource> {
  await using scratch = await createScratch();
  const file = join(scratch.path, 'locomo.json');
  await writeFile(file, JSON.stringify([conversation('a'), conversation('ab')]));
  return await loadUserExams(
    dataConfigSchema.parse({ kind: 'locomo', file, ...fields }),
    countTokens,
  );
}

test('questions without a citation and probes above the cap are counted', async () => {
  const { counts } = await load({ select: { recallPerChunk: 1 } });
  expect(counts).toEqual({
    users: 2,
    windows: 2,
    chunks: 2,
    probes: 2,
    traps: 0,
    questions: 0,
    unresolved: 2,
    unplaced: 0,
    notSelected: 2,
    otherScenes: 0,
  });
  expect(leftOutText(counts)).toContain('2 questions without a usable citation');
});

test('only the chosen conversations are counted', async () => {
  const { users, counts } = await load({ conversations: [0] });
  expect(users.map(({ userId }) => userId)).toEqual(['a']);
  expect(counts).toMatchObject({ users: 1, probes: 2, unresolved: 1, notSelected: 0 });
});

test('chunking is the configuration’s', async () => {
  const chunking = { turnsPerChunk: 4, chunksPerWindow: 2 };
  const { counts } = await load({ conversations: [0], chunking });
  expect(counts).toMatchObject({ chunks: TURNS / 4, windows: 2 });
  expect(() => dataConfigSchema.parse({ kind: 'world', chunking: { chunksPerWindow: 6 } })).toThrow(
    /chunksPerWindow/,
  );
});

test('a synthetic world leaves nothing out', async () => {
  const world = { users: 1, sessionsPerUser: 2 };
  const data = dataConfigSchema.parse({ kind: 'world', world });
  const { counts } = await loadUserExams(data, countTokens);
  expect(counts).toMatchObject({ users: 1, chunks: 2, unresolved: 0, unplaced: 0 });
  expect(leftOutText(counts)).toBeUndefined();
});

test('users whose sessions the framework is not for sit no exam, and nobody left is an error', async () => {
  const world = (scene: string) =>
    dataConfigSchema.parse({ kind: 'world', world: { scene, users: 6, sessionsPerUser: 1 } });
  const { users, counts } = await loadUserExams(world('mixed'), countTokens, ['working']);
  expect(users.map(({ userId }) => userId.at(-1))).toEqual(['1', '4']);
  expect(counts).toMatchObject({ users: 2, otherScenes: 4 });
  expect(leftOutText(counts)).toBe(
    'in no exam: 4 users with sessions of a scene that the framework is not for',
  );
  await expect(loadUserExams(world('chat'), countTokens, ['coding'])).rejects.toThrow(
    'nobody to examine',
  );
});
