/** The world against the embedded reader and judge: what each kind of writer is worth, from the bank alone. */
import { expect, test } from 'vitest';
import { attachItems } from '../artifact/attach.ts';
import { selectProbes } from '../artifact/select.ts';
import { renderMessage } from '../core/conversation.ts';
import type { ExamItem } from '../core/exam.ts';
import { windowsOfStream } from '../data/windows.ts';
import { gradeByRule } from '../exam/rule-judge.ts';
import { answerByRule } from '../exam/rule-reader.ts';
import { tokenise } from '../exam/text.ts';
import { createRng } from '../lib/rng.ts';
import { growthPenalty, growthRatio } from '../reward/penalty.ts';
import { CAREFUL, type ClerkStyle, clerkMemories, resolvable } from './clerk.ts';
import { worldPresets } from './options.ts';
import type { WorldUser } from './truth.ts';
import { createWorldUser } from './world.ts';

const USERS = 10;
const GROWTH = { freeRatio: 0.5, fullRatio: 1, steepness: 3, minChunkTokens: 64 };
const CHATTY: ClerkStyle = { ...CAREFUL, keepChatter: 0.2, blur: 0.1 };
const CARELESS: ClerkStyle = {
  blur: 0.3,
  describe: 0.1,
  keepChatter: 0.4,
  dropSecondary: 0.5,
  dropOldValue: 0.5,
  flipNegation: 0.15,
  storeRepeats: 0.6,
  skip: 0.08,
};

type Writer = (user: WorldUser, session: number, bank: readonly string[]) => string[];

interface Examinee extends WorldUser {
  readonly exam: readonly ExamItem[];
}

const users = (preset: keyof typeof worldPresets): Examinee[] =>
  Array.from({ length: USERS }, (_, index) =>
    createWorldUser({ ...worldPresets[preset], split: 'eval', heldOutForms: true }, index),
  ).map((user) => ({ ...user, exam: examOf(user) }));
const demoUsers = users('demo');

function clerk(style: ClerkStyle): Writer {
  return ({ userId, truth }, session, bank) => {
    const told = truth[session];
    if (told === undefined) throw new Error('no such session');
    return clerkMemories(resolvable(told, bank), style, createRng(`${userId} ${session}`));
  };
}
const verbatim: Writer = ({ sessions }, session) =>
  (sessions[session]?.messages ?? []).map(renderMessage);
const empty: Writer = () => [];

interface Marks {
  recall: number;
  traps: number;
  questions: number;
  /** Mean of prm + 2 orm − 0.3 pen over chunks, questions taken whole. */
  chunkScore: number;
  penalty: number;
  byCategory: Record<string, number>;
}

function examine(writer: Writer, world: readonly Examinee[] = demoUsers): Marks {
  const scores: Record<string, number[]> = {};
  const add = (name: string, value: number) => {
    const list = scores[name];
    if (list) list.push(value);
    else scores[name] = [value];
  };
  for (const user of world) {
    const { bank, penalties } = write(writer, user);
    for (const penalty of penalties) add('penalty', penalty);
    for (const item of user.exam) {
      const score = scoreOf(item, bank);
      add(item.kind, score);
      if (item.kind === 'recall') add(item.category, score);
      if (item.kind !== 'question') add('prm', score);
    }
  }
  const mean = (name: string): number => {
    const list = scores[name];
    if (list === undefined) throw new Error(`nothing was scored as ${name}`);
    return list.reduce((sum, value) => sum + value, 0) / list.length;
  };
  return {
    recall: mean('recall'),
    traps: mean('trap'),
    questions: mean('question'),
    chunkScore: mean('prm') + 2 * mean('question') - 0.3 * mean('penalty'),
    penalty: mean('penalty'),
    byCategory: Object.fromEntries(Object.keys(scores).map((name) => [name, mean(name)])),
  };
}

function write(writer: Writer, user: WorldUser): { bank: string; penalties: number[] } {
  const bank: string[] = [];
  const penalties = user.sessions.map(({ messages }, session) => {
    const tokensBefore = countTokens(bank.join('\n'));
    bank.push(...writer(user, session, bank));
    const chunkTokens = countTokens(messages.map(renderMessage).join('\n'));
    const tokensAfter = countTokens(bank.join('\n'));
    return growthPenalty(growthRatio({ tokensBefore, tokensAfter, chunkTokens }, GROWTH), GROWTH);
  });
  return { bank: bank.join('\n'), penalties };
}

/** As training sees it: attached to chunks and windows, capped at three recall probes and a trap a chunk. */
function examOf(user: WorldUser): ExamItem[] {
  const options = { countTokens, turnsPerChunk: 10, maxChunkTokens: 8000 };
  const { artifacts, unplaced } = attachItems(user, windowsOfStream(user, options));
  expect(unplaced).toEqual([]);
  return selectProbes(artifacts).artifacts.flatMap(({ probes, questions }) => [
    ...probes,
    ...questions,
  ]);
}

function scoreOf(item: ExamItem, bank: string): number {
  const { verdicts, credits } = gradeByRule(item, answerByRule(item.question, bank));
  if (item.kind === 'trap') return verdicts[item.id] ?? Number.NaN;
  if (item.kind === 'question') {
    const earned = item.goldFacts.map(({ id }) => credits[id] ?? Number.NaN);
    return earned.reduce((sum: number, credit) => sum + credit, 0) / earned.length;
  }
  const total = item.rubric.reduce((sum, { weight }) => sum + weight, 0);
  return (
    item.rubric.reduce((sum, { id, weight }) => sum + weight * (verdicts[id] ?? Number.NaN), 0) /
    total
  );
}

/** Roughly a small tokenizer's count: capitals and digits are tokens of their own. */
function countTokens(text: string): number {
  return text.match(/[A-Z\d]|[a-z]{1,6}|[^\w\s]/g)?.length ?? 0;
}

const careful = examine(clerk(CAREFUL));

test.each(['easy', 'demo', 'hard'] as const)('an ideal bank passes its exam in %s', (preset) => {
  const marks = preset === 'demo' ? careful : examine(clerk(CAREFUL), users(preset));
  expect(marks.recall).toBeGreaterThanOrEqual(0.98);
  expect(marks.traps).toBeGreaterThanOrEqual(0.98);
  expect(marks.questions).toBeGreaterThanOrEqual(0.95);
  expect(marks.penalty).toBeLessThan(0.01);
});

test('an empty bank recalls nothing and passes every trap', () => {
  expect(examine(empty)).toMatchObject({ recall: 0, traps: 1, questions: 0 });
});

test('a verbatim bank recalls most, walks into the traps and pays for its growth', () => {
  const marks = examine(verbatim);
  expect(marks.recall).toBeGreaterThan(0.8);
  expect(marks.traps).toBeLessThan(0.05);
  expect(marks.penalty).toBe(1);
});

test.each(['blur', 'describe'] as const)('a bank of %s memories recalls nothing', (habit) => {
  const marks = examine(clerk({ ...CAREFUL, [habit]: 1 }));
  expect(marks.recall).toBeLessThan(0.02);
  expect(marks.traps).toBeGreaterThanOrEqual(0.98);
});

test.each([
  ['flipNegation', 'semantic-exactness', 0.35],
  ['dropSecondary', 'secondary-detail', 0.7],
  ['dropSecondary', 'content-not-description', 0.4],
  ['dropOldValue', 'state-transition', 0.8],
] as const)('%s costs %s', (habit, category, limit) => {
  const marks = examine(clerk({ ...CAREFUL, [habit]: 1 }));
  expect(marks.byCategory[category]).toBeLessThan(limit);
  expect(careful.byCategory[category]).toBeGreaterThan(0.98);
});

test('repeats stored again earn nothing', () => {
  const marks = examine(clerk({ ...CAREFUL, storeRepeats: 1 }));
  expect(marks.recall).toBeLessThanOrEqual(careful.recall + 1e-9);
});

test('careless, chatty, careful and verbatim writers stand apart', () => {
  const careless = examine(clerk(CARELESS)).chunkScore;
  const chatty = examine(clerk(CHATTY)).chunkScore;
  const copied = examine(verbatim).chunkScore;
  expect(chatty).toBeGreaterThan(careless + 0.3);
  expect(careful.chunkScore).toBeGreaterThan(chatty + 0.2);
  expect(careful.chunkScore).toBeGreaterThan(copied + 0.5);
});

test('no question holds what its answer must contain', () => {
  for (const user of demoUsers) {
    for (const item of user.items) {
      if (item.kind === 'trap') continue;
      const question = ` ${tokenise(item.question).join(' ')} `;
      for (const { key } of item.rubric) {
        for (const phrase of key?.all ?? []) {
          expect(question).not.toContain(` ${tokenise(phrase).join(' ')} `);
        }
      }
    }
  }
});
