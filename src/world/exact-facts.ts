/** Facts that turn on one small word: negation and scope. The value alone does not make them right. */
import type { FactSpec } from './spec.ts';
import type { Slot } from './values.ts';

interface ExactRow {
  readonly slots: { readonly v: Slot; readonly w?: Slot };
  readonly noun: string;
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
  readonly ideal: string;
  readonly flipped: string;
  readonly blurred: string;
  readonly question: string;
  readonly all: readonly string[];
  /** What the flipped memory asserts. */
  readonly none: readonly string[];
}

const ROWS: Readonly<Record<string, ExactRow>> = {
  diet: {
    slots: { v: { list: 'food' } },
    noun: 'eating',
    told: [
      'I do not eat {v}',
      'I never eat {v}, remember that',
      'please no {v}, I do not eat it',
      'I eat all but {v}',
    ],
    heldOut: ['do not make me eat {v}, ever'],
    ideal: 'user does not eat {v}',
    flipped: 'user eats {v}',
    blurred: 'user eats only some things',
    question: 'What does the user eat or not?',
    all: ['{v}'],
    none: ['user eats {v}'],
  },
  allergy: {
    slots: { v: { list: 'food' }, w: { list: 'food' } },
    noun: 'the allergy',
    told: [
      'my allergy is to {v}, not to {w}',
      'I have an allergy to {v} but not to {w}',
      'not {w} but {v} is my allergy',
      'my allergy: {v}, {w} is fine',
    ],
    heldOut: ['{w} is safe for me, my allergy is {v}'],
    ideal: 'user has an allergy to {v}, not to {w}',
    flipped: 'user has an allergy to {w}, not to {v}',
    blurred: 'user has an allergy',
    question: 'Which allergy is it?',
    all: ['{v}'],
    none: ['user has an allergy to {w}'],
  },
  bus: {
    slots: { v: { list: 'scope' } },
    noun: 'the bus',
    told: [
      'I take the bus only on {v}',
      'the bus is for {v} only, else I walk',
      'only on {v} I take the bus',
      'I use the bus on {v} and never else',
    ],
    heldOut: ['{v} are the only time you see me on the bus'],
    ideal: 'user takes the bus only on {v}',
    flipped: 'user takes the bus every day',
    blurred: 'user takes the bus sometimes',
    question: 'What about the bus?',
    all: ['{v}'],
    none: ['every day'],
  },
  coffee: {
    slots: { v: { list: 'scope' } },
    noun: 'coffee',
    told: [
      'I drink no coffee on {v}',
      'on {v} I never drink coffee',
      'coffee is fine but not on {v}',
      'no coffee for me on {v}',
    ],
    heldOut: ['{v} are free of coffee for me'],
    ideal: 'user drinks no coffee on {v}',
    flipped: 'user drinks coffee on {v}',
    blurred: 'user has a coffee habit',
    question: 'What about coffee?',
    all: ['{v}'],
    none: ['drinks coffee on {v}'],
  },
  meetings: {
    slots: { v: 'time' },
    noun: 'meetings',
    told: [
      'no meetings before {v} please',
      'I want no meetings before {v}',
      'never plan meetings before {v}',
      'meetings before {v} are not ok',
    ],
    heldOut: ['spare me all meetings before {v}'],
    ideal: 'user wants no meetings before {v}',
    flipped: 'user wants meetings before {v}',
    blurred: 'user has a wish about meetings',
    question: 'What about meetings?',
    all: ['{v}'],
    none: ['user wants meetings before {v}'],
  },
  calls: {
    slots: { v: 'time' },
    noun: 'calls',
    told: [
      'no calls after {v} please',
      'I take no calls after {v}',
      'never send me calls after {v}',
      'calls after {v} are not ok',
    ],
    heldOut: ['after {v} I am off, so no calls'],
    ideal: 'user takes no calls after {v}',
    flipped: 'user takes calls after {v}',
    blurred: 'user has a rule for calls',
    question: 'What about calls?',
    all: ['{v}'],
    none: ['user takes calls after {v}'],
  },
  tools: {
    slots: { v: { list: 'tool' } },
    noun: 'the tool',
    told: [
      'do not use {v} as a tool',
      'never suggest the tool {v}',
      'any tool but not {v} please',
      'the one tool I refuse is {v}',
    ],
    heldOut: ['keep that tool {v} away from me'],
    ideal: 'user does not want the tool {v}',
    flipped: 'user wants the tool {v}',
    blurred: 'user has a wish about a tool',
    question: 'What about the tool?',
    all: ['{v}'],
    none: ['user wants the tool {v}'],
  },
  gym: {
    slots: { v: { list: 'scope' } },
    noun: 'the gym',
    told: [
      'I go to the gym only on {v}',
      'the gym is for {v} only',
      'only on {v} I am at the gym',
      'I see the gym on {v} and never else',
    ],
    heldOut: ['except on {v} I skip the gym'],
    ideal: 'user goes to the gym only on {v}',
    flipped: 'user goes to the gym every day',
    blurred: 'user goes to the gym sometimes',
    question: 'What about the gym?',
    all: ['{v}'],
    none: ['every day'],
  },
  newsletter: {
    slots: { v: { list: 'subject' } },
    noun: 'the newsletter',
    told: [
      'I want no newsletter about {v}',
      'never send a newsletter about {v}',
      'stop the newsletter on {v}',
      'no newsletter on {v} for me',
    ],
    heldOut: ['I am done with the newsletter on {v}'],
    ideal: 'user wants no newsletter about {v}',
    flipped: 'user wants a newsletter about {v}',
    blurred: 'user has a wish about a newsletter',
    question: 'What about the newsletter?',
    all: ['{v}'],
    none: ['wants a newsletter about {v}'],
  },
};

function exact([id, row]: readonly [string, ExactRow]): FactSpec {
  return {
    id,
    family: 'exact',
    category: 'semantic-exactness',
    slots: row.slots,
    told: row.told,
    heldOut: row.heldOut,
    ideal: row.ideal,
    blurred: row.blurred,
    described: `user told a wish about ${row.noun}`,
    flipped: row.flipped,
    question: row.question,
    criteria: [{ id: 'value', text: `says that ${row.ideal}`, all: row.all, none: row.none }],
    noun: row.noun,
  };
}

export const exactFacts: readonly FactSpec[] = Object.entries(ROWS).map(exact);
