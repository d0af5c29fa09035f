/** Lists, recipes and plans: a memory must hold the content, not that there was a list. */
import type { FactSpec } from './spec.ts';
import type { Slot } from './values.ts';

interface ContentRow {
  readonly slots: { readonly v: Slot; readonly w: Slot; readonly x: Slot };
  readonly topic: string;
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
  readonly question: string;
}

const grocery = { list: 'grocery' } as const;
const gear = { list: 'gear' } as const;
const step = { list: 'step' } as const;

const ROWS: Readonly<Record<string, ContentRow>> = {
  shopping: {
    slots: { v: grocery, w: grocery, x: grocery },
    topic: 'shopping list',
    told: [
      'my shopping list: {v}, {w}, {x}',
      'keep my shopping list, it is {v}, {w} and {x}',
      'for the shopping list note {v}, {w} and {x}',
      '{v}, {w} and {x} are my shopping list',
    ],
    heldOut: ['we lack {v}, {w} and {x}, so make a shopping list'],
    question: 'What is on the shopping list?',
  },
  soup: {
    slots: { v: grocery, w: grocery, x: grocery },
    topic: 'soup recipe',
    told: [
      'my soup recipe is {v}, {w} and {x}',
      'the soup needs {v}, {w} and {x}',
      'I cook the soup from {v}, {w} and {x}',
      'for the soup take {v}, {w}, {x}',
    ],
    heldOut: ['{v} plus {w} plus {x} makes our soup'],
    question: 'What is in the soup recipe?',
  },
  packing: {
    slots: { v: gear, w: gear, x: gear },
    topic: 'packing list',
    told: [
      'my packing list: {v}, {w}, {x}',
      'for packing I need {v}, {w} and {x}',
      'I am packing {v}, {w} and {x}',
      '{v}, {w} and {x} are on my packing list',
    ],
    heldOut: ['while packing do not forget {v}, {w} and {x}'],
    question: 'What is on the packing list?',
  },
  release: {
    slots: { v: step, w: step, x: step },
    topic: 'release steps',
    told: [
      'our release steps: {v}, {w}, {x}',
      'a release goes {v}, then {w}, then {x}',
      'to release we {v}, {w} and {x}',
      'the release has steps {v}, {w}, {x}',
    ],
    heldOut: ['first {v}, next {w}, last {x}, that is a release'],
    question: 'What are the release steps?',
  },
  agenda: {
    slots: { v: { list: 'theme' }, w: { list: 'theme' }, x: { list: 'theme' } },
    topic: 'agenda',
    told: [
      'our agenda: {v}, {w}, {x}',
      'the agenda has {v}, {w} and {x}',
      'on the agenda are {v}, {w} and {x}',
      'keep {v}, {w} and {x} as agenda',
    ],
    heldOut: ['we talk of {v}, {w} and {x}, so says the agenda'],
    question: 'What is on the agenda?',
  },
  guests: {
    slots: { v: 'name', w: 'name', x: 'name' },
    topic: 'guest list',
    told: [
      'my guest list: {v}, {w}, {x}',
      'the guests are {v}, {w} and {x}',
      'on the guest list are {v}, {w}, {x}',
      'I invite {v}, {w} and {x} as guests',
    ],
    heldOut: ['set a table for the guests {v}, {w}, {x}'],
    question: 'Who is on the guest list?',
  },
  timetable: {
    slots: { v: { list: 'subject' }, w: { list: 'subject' }, x: { list: 'subject' } },
    topic: 'timetable',
    told: [
      'my timetable: {v}, {w}, {x}',
      'the timetable has {v}, {w} and {x}',
      'I got my timetable, {v}, {w} and {x}',
      '{v}, {w} and {x} fill my timetable',
    ],
    heldOut: ['school gave me {v}, {w} and {x} on the timetable'],
    question: 'What is on the timetable?',
  },
};

function content([id, row]: readonly [string, ContentRow]): FactSpec {
  return {
    id,
    family: 'content',
    category: 'content-not-description',
    slots: row.slots,
    told: row.told,
    heldOut: row.heldOut,
    ideal: `user's ${row.topic} is {v}, {w}, {x}`,
    withoutSecondary: `user's ${row.topic} is {v}`,
    blurred: `user has a ${row.topic}`,
    described: `user told a ${row.topic} with three things`,
    question: row.question,
    criteria: [
      { id: 'first', text: 'names {v}', all: ['{v}'] },
      { id: 'second', text: 'names {w}', all: ['{w}'] },
      { id: 'third', text: 'names {x}', all: ['{x}'] },
    ],
    noun: `the ${row.topic}`,
  };
}

export const contentFacts: readonly FactSpec[] = Object.entries(ROWS).map(content);
