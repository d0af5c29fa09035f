import { expect, test } from 'vitest';
import { contentStems, tokenise } from '../exam/text.ts';
import { assistantFacts } from './assistant-facts.ts';
import { chatterSpecs } from './chatter.ts';
import { contentFacts } from './content-facts.ts';
import { detailFacts } from './detail-facts.ts';
import { entityFacts, entityIntros } from './entity-facts.ts';
import { exactFacts } from './exact-facts.ts';
import { FILLER } from './filler.ts';
import { plainFacts } from './plain-facts.ts';
import { relativeFacts } from './relative-facts.ts';
import { IDLE_TOOL_TURNS, toolFacts } from './tool-facts.ts';
import { splitOf } from './values.ts';
import { words } from './words.ts';

const specs = [
  ...plainFacts,
  ...exactFacts,
  ...detailFacts,
  ...contentFacts,
  ...relativeFacts,
  ...assistantFacts,
  ...Object.values(toolFacts).flat(),
  ...Object.values(entityIntros),
  ...Object.values(entityFacts).flat(),
];

test('there are many attributes, each with several surface forms and one that training never shows', () => {
  expect(specs.length).toBeGreaterThanOrEqual(40);
  expect(new Set(specs.map(({ id }) => id)).size).toBe(specs.length);
  for (const { told, heldOut } of specs) {
    expect(told.length).toBeGreaterThanOrEqual(3);
    expect(heldOut.length).toBeGreaterThanOrEqual(1);
    expect(told).not.toEqual(expect.arrayContaining([...heldOut]));
  }
});

test.each(specs)('$id tells every slot in every form', ({ slots, told, heldOut, family }) => {
  const names = family === 'relative' ? ['r'] : Object.keys(slots);
  for (const form of [...told, ...heldOut]) {
    for (const name of names) expect(form).toContain(`{${name}}`);
  }
});

test.each(specs)('$id is found by its question, whole or blurred', (spec) => {
  const asked = contentStems(spec.question);
  for (const text of [spec.ideal, spec.blurred, ...spec.told, ...spec.heldOut]) {
    expect(contentStems(text).filter((word) => asked.includes(word))).not.toEqual([]);
  }
});

test('no word that a trap asks about occurs in a fact or in filler', () => {
  const spoken = new Set(
    [
      ...specs.flatMap(({ told, heldOut, ask, ideal, blurred, described }) => [
        ...told,
        ...heldOut,
        ...(ask ?? []),
        ...[ideal, blurred, described],
      ]),
      ...Object.entries(words).flatMap(([list, members]) => (list === 'purchase' ? [] : members)),
      ...Object.values(FILLER).flat(),
      ...Object.values(IDLE_TOOL_TURNS).flatMap((turns) => turns.map(({ ask }) => ask)),
    ].flatMap(contentStems),
  );
  const asked = [
    ...chatterSpecs.flatMap(({ question }) => contentStems(question)),
    ...words.purchase.flatMap(contentStems),
  ];
  expect(asked.filter((word) => spoken.has(word))).toEqual([]);
});

test('each trap is about a topic of its own', () => {
  const topics = chatterSpecs.map(({ question }) => contentStems(question).join(' '));
  expect(new Set(topics).size).toBe(topics.length);
  for (const spec of chatterSpecs) {
    const stored = contentStems(spec.stored);
    expect(contentStems(spec.question).every((word) => stored.includes(word))).toBe(true);
    expect(tokenise(spec.question)).not.toEqual(expect.arrayContaining([...spec.trapped]));
  }
});

test.each(Object.entries(words))('%s has words enough for both splits', (_, list) => {
  expect(new Set(list).size).toBe(list.length);
  const training = list.filter((word) => splitOf(word) === 'train');
  expect(Math.min(training.length, list.length - training.length)).toBeGreaterThanOrEqual(4);
});
