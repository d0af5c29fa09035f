import { expect, test } from 'vitest';
import type { Session } from '../core/conversation.ts';
import { matchKey } from '../exam/key-match.ts';
import { createRng } from '../lib/rng.ts';
import { CAREFUL, clerkMemories, clerkRecords, resolvable } from './clerk.ts';
import type { FactTruth, SessionTruth } from './truth.ts';
import { createWorldUser } from './world.ts';

const users = Array.from({ length: 20 }, (_, index) => createWorldUser({}, index));
const sessions = users.flatMap(({ truth }) => truth);
const facts = sessions.flatMap((session) => session.facts);

function meets(text: string, { rubric }: FactTruth): boolean {
  return rubric.every(({ key }) => key !== undefined && matchKey(text, key) === 1);
}

test('of the texts about a fact only the ideal one meets its whole rubric', () => {
  for (const fact of facts) {
    const { ideal, unresolved: _, ...lacking } = fact.texts;
    expect(meets(ideal, fact), ideal).toBe(true);
    for (const text of Object.values(lacking)) expect(meets(text, fact), text).toBe(false);
  }
});

test('a careful clerk stores every new fact, no repeat and no chatter, in the order told', () => {
  for (const session of sessions) {
    const expected = session.facts.filter(({ repeats }) => repeats === undefined);
    const stored = clerkRecords(session, CAREFUL, createRng('careful'));
    expect(stored).toEqual(
      expected.map(({ texts, speaker }) => ({ text: texts.ideal, attributedTo: speaker })),
    );
  }
});

test('a clerk who keeps chatter stores it where it was said', () => {
  const session = sessions.find(
    ({ chatter, facts: told }) => chatter.length > 1 && told.length > 1,
  );
  if (session === undefined) throw new Error('no session with facts and chatter');
  const stored = clerkMemories(
    session,
    { ...CAREFUL, keepChatter: 1, storeRepeats: 1 },
    createRng('x'),
  );
  expect(stored).toHaveLength(session.facts.length + session.chatter.length);
  for (const { stored: text } of session.chatter) expect(stored).toContain(text);
});

test('the same style and seed store the same', () => {
  const style = { ...CAREFUL, blur: 0.5, skip: 0.2, keepChatter: 0.5 };
  const all = (seed: string) =>
    sessions.map((session) => clerkMemories(session, style, createRng(seed)));
  expect(all('a')).toEqual(all('a'));
  expect(all('a')).not.toEqual(all('b'));
});

function withFact(where: (fact: FactTruth) => boolean): { session: SessionTruth; fact: FactTruth } {
  for (const session of sessions) {
    const fact = session.facts.find(where);
    if (fact) return { session: { ...session, facts: [fact] }, fact };
  }
  throw new Error('no such fact in the sample');
}

test('a clerk whose bank lacks the earlier value does not invent it', () => {
  const { session, fact } = withFact(
    ({ telling, needs }) => telling === 'change' && needs.length > 0,
  );
  const [old = ''] = fact.needs;
  const write = (bank: string[]) =>
    clerkMemories(resolvable(session, bank), CAREFUL, createRng('x'));
  expect(write([`it is ${old}`])).toEqual([fact.texts.ideal]);
  expect(write([`it is ${old}0`])).toEqual([fact.texts.withoutOld]);
});

test('a repeat of what the bank lost is news', () => {
  const { session, fact } = withFact(({ repeats }) => repeats !== undefined);
  const write = (bank: string[]) =>
    clerkMemories(resolvable(session, bank), CAREFUL, createRng('x'));
  expect(write([fact.texts.ideal])).toEqual([]);
  expect(write([fact.texts.blurred])).toEqual([fact.texts.ideal]);
});

test('what a fact needs is in an earlier chunk, and a change that needs it does not tell it', () => {
  const leaning = users.flatMap(({ truth, sessions: told }) =>
    truth.flatMap(({ facts: own }, index) =>
      own.flatMap(({ telling, needs }) =>
        needs.map((phrase) => ({
          telling,
          isEarlier: textOf(told.slice(0, index)).includes(phrase),
          isHere: textOf(told.slice(index, index + 1)).includes(` ${phrase} `),
        })),
      ),
    ),
  );
  expect(new Set(leaning.map(({ telling }) => telling))).toEqual(new Set(['change', 'reference']));
  expect(leaning.filter(({ isEarlier }) => !isEarlier)).toEqual([]);
  expect(leaning.filter(({ telling, isHere }) => telling === 'change' && isHere)).toEqual([]);
});

function textOf(told: readonly Session[]): string {
  return told.flatMap(({ messages }) => messages.map(({ text }) => ` ${text} `)).join('\n');
}
