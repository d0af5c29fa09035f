/** Lists, recipes and plans: a memory must hold the content, not that there was a list. */
import type { FactSpec } from './spec.ts';
import type { Slot } from './values.ts';

interface ContentRow {
  readonly slots: { readonly v: Slot; readonly w: Slot; readonly x: Slot };
  readonly topic: string;
  /** How a memory begins: "user's soup has". */
  readonly opening: string;
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
    opening: "user's shopping list is",
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
    topic: 'soup',
    opening: "user's soup has",
    told: [
      'my soup has {v}, {w} and {x}',
      'the soup needs {v}, {w} and {x}',
      'I cook the soup from {v}, {w} and {x}',
      'for the soup take {v}, {w}, {x}',
    ],
    heldOut: ['{v} plus {w} plus {x} makes our soup'],
    question: 'What is in the soup?',
  },
  luggage: {
    slots: { v: gear, w: gear, x: gear },
    topic: 'luggage',
    opening: "user's luggage is",
    told: [
      'my luggage: {v}, {w}, {x}',
      'as luggage I need {v}, {w} and {x}',
      'my luggage will be {v}, {w} and {x}',
      '{v}, {w} and {x} go in my luggage',
    ],
    heldOut: ['do not forget {v}, {w} and {x}, all luggage'],
    question: 'What is in the luggage?',
  },
  release: {
    slots: { v: step, w: step, x: step },
    topic: 'release',
    opening: 'release steps are',
    told: [
      'our release steps: {v}, {w}, {x}',
      'a release goes {v}, then {w}, then {x}',
      'to release we {v}, {w} and {x}',
      'the release has steps {v}, {w}, {x}',
    ],
    heldOut: ['first {v}, next {w}, last {x}, that is a release'],
    question: 'How is a release done?',
  },
  agenda: {
    slots: { v: { list: 'theme' }, w: { list: 'theme' }, x: { list: 'theme' } },
    topic: 'agenda',
    opening: 'agenda is',
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
    topic: 'guests',
    opening: "user's guests are",
    told: [
      'my guests: {v}, {w}, {x}',
      'the guests are {v}, {w} and {x}',
      'as guests we have {v}, {w}, {x}',
      'I invite {v}, {w} and {x} as guests',
    ],
    heldOut: ['set a table for the guests {v}, {w}, {x}'],
    question: 'Who are the guests?',
  },
  timetable: {
    slots: { v: { list: 'subject' }, w: { list: 'subject' }, x: { list: 'subject' } },
    topic: 'timetable',
    opening: "user's timetable is",
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
    ideal: `${row.opening} {v}, {w}, {x}`,
    withoutSecondary: `${row.opening} {v}`,
    blurred: `user has things for the ${row.topic}`,
    described: `user told three things about the ${row.topic}`,
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
