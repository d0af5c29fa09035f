import { beforeAll, describe, expect, test } from 'vitest';
import { createRng } from '../../../src/lib/rng.ts';
import { CAREFUL } from '../../../src/world/clerk.ts';
import { createWorldUser } from '../../../src/world/world.ts';
import { breakAnswer } from '../breakages.ts';
import { casesOf, type TaskCase } from '../cases.ts';
import { WIDE } from '../styles.ts';
import { decide, replaces } from './memories.ts';
import { EXTRACTIONS, MERGES } from './tasks.ts';

const SCENES = ['chat', 'working', 'coding'] as const;
const USERS = 8;
const cases = new Map<string, TaskCase[]>();

beforeAll(async () => {
  for (const scene of SCENES) {
    const fits = ({ scenes }: { scenes: readonly string[] }) => scenes.includes(scene);
    for (let index = 0; index < USERS; index++) {
      const made = await casesOf(createWorldUser({ scene, sessionsPerUser: 6 }, index), {
        choose: () => ({ extractions: EXTRACTIONS.filter(fits), merges: MERGES.filter(fits) }),
        bank: WIDE.clerk,
        rng: createRng(`tasks ${index}`),
      });
      for (const one of made) cases.set(one.task, [...(cases.get(one.task) ?? []), one]);
    }
  }
});

describe.each([...EXTRACTIONS, ...MERGES])('$name', ({ name }) => {
  const made = () => cases.get(name) ?? [];

  test('what clerks answer is well formed, and an extraction holds all of their memories', () => {
    expect(made().length).toBeGreaterThan(USERS);
    for (const chunk of made()) {
      for (const style of [CAREFUL, WIDE.clerk]) {
        const answer = chunk.answer(style, createRng('answer'));
        expect(chunk.check(answer).kind, answer).toBe('well-formed');
      }
      const texts = chunk.extraction?.texts(chunk.answer(CAREFUL, createRng('careful')));
      const fresh = chunk.extraction?.truth.facts.filter(({ repeats }) => repeats === undefined);
      expect([...(texts ?? [])].sort()).toEqual((fresh ?? []).map((one) => one.texts.ideal).sort());
    }
  });

  test('a clerk says nothing that the request does not show', () => {
    for (const { messages, extraction } of made()) {
      const shown = messages.map(({ content }) => content).join('\n');
      for (const { texts, values } of extraction?.truth.facts ?? []) {
        for (const { core } of Object.values(values)) {
          if (texts.ideal.includes(core)) expect(shown).toContain(core);
        }
      }
    }
  });

  test('the view begins with its own task token', () => {
    for (const { messages } of made()) expect(messages[0]?.content).toBe(`<|${name}|>`);
  });

  test('a broken answer is malformed, but where any text is an answer', () => {
    for (const chunk of made()) {
      const broken = breakAnswer(chunk.answer(CAREFUL, createRng('x')), chunk, createRng(name));
      expect(chunk.check(broken).kind).toBe(
        name === 'hy.fact.summary' ? 'well-formed' : 'malformed',
      );
    }
  });
});

test('a merge has something to add, to change and to leave out', () => {
  const answers = (name: string) =>
    (cases.get(name) ?? []).map((one) => one.answer(CAREFUL, createRng('x'))).join('\n');
  for (const event of ['ADD', 'UPDATE', 'NONE']) {
    expect(answers('mem0-1x.update')).toContain(`"event":"${event}"`);
  }
  for (const op of ['ADD', 'UPDATE'])
    expect(answers('hy.chat.reconcile')).toContain(`"op":"${op}"`);
  for (const action of ['ADD', 'SKIP']) {
    expect(answers('hy.experience.reconcile')).toContain(`"action":"${action}"`);
  }
  expect(answers('hy.fact.reconcile')).toMatch(/"supersedes":\["\d/);
});

test('a newer text about one subject takes the place of an older one', () => {
  expect(replaces("user's team changed from Likave to Beha", "user's team is Likave")).toBe(true);
  expect(replaces("user's team is Beha", "user's team is Likave")).toBe(true);
  expect(replaces("user's team is Beha", "user's team is Beha")).toBe(false);
  expect(replaces("user's manager is Beha", "user's team is Likave")).toBe(false);
  expect(replaces('user is a night owl', 'user is a vegetarian')).toBe(false);
  expect(replaces('user drinks no coffee', 'user drinks coffee')).toBe(false);
});

test('each existing memory is decided on once', () => {
  const team = (name: string) => `user's team is ${name}`;
  expect(decide([team('A'), team('B'), 'new'], [team('A'), team('C')])).toEqual([
    { kind: 'none', target: 0 },
    { kind: 'update', target: 1 },
    { kind: 'add' },
  ]);
  expect(decide([team('A'), team('B')], [team('C')])).toEqual([
    { kind: 'update', target: 0 },
    { kind: 'add' },
  ]);
});
