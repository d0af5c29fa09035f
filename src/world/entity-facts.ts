/** Facts about a thing with a name of its own, told over several sessions, often as "that project". */
import type { EntityKind, FactSpec } from './spec.ts';
import type { Slot } from './values.ts';

interface EntityRow {
  readonly slot: Slot;
  readonly topic: string;
  /** `{e}` becomes "project Muze" or "that project". */
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
  readonly changes?: true;
}

export const ENTITY_NOUNS: Readonly<Record<EntityKind, { named: string; referred: string }>> = {
  project: { named: 'project {p}', referred: 'that project' },
  trip: { named: 'the trip to {p}', referred: 'that trip' },
};

const PROJECT_ROWS: readonly EntityRow[] = [
  {
    slot: 'date',
    topic: 'deadline',
    told: ['the deadline of {e} is {v}', '{e} has its deadline on {v}', 'deadline for {e}: {v}'],
    heldOut: ['we must be done by {v}, the deadline of {e}'],
    changes: true,
  },
  {
    slot: 'amount',
    topic: 'budget',
    told: ['the budget of {e} is {v}', '{e} has a budget of {v}', 'we got {v} as budget for {e}'],
    heldOut: ['{v} must do, says the budget of {e}'],
    changes: true,
  },
  {
    slot: 'name',
    topic: 'client',
    told: ['the client of {e} is {v}', '{e} is for the client {v}', '{v} is the client of {e}'],
    heldOut: ['{v} pays for {e} as client'],
    changes: true,
  },
  {
    slot: 'path',
    topic: 'repo',
    told: ['the repo of {e} is {v}', '{e} has its repo at {v}', 'find the repo of {e} in {v}'],
    heldOut: ['clone {v}, the repo of {e}'],
  },
  {
    slot: 'number',
    topic: 'port',
    told: ['the port of {e} is {v}', '{e} runs on port {v}', 'use port {v} for {e}'],
    heldOut: ['{e} listens at {v} as its port'],
    changes: true,
  },
];

const TRIP_ROWS: readonly EntityRow[] = [
  {
    slot: 'name',
    topic: 'hotel',
    told: ['the hotel for {e} is {v}', 'on {e} my hotel is {v}', 'I booked hotel {v} for {e}'],
    heldOut: ['{v} is where I stay on {e}, a nice hotel'],
    changes: true,
  },
  {
    slot: 'code',
    topic: 'flight',
    told: ['the flight for {e} is {v}', 'on {e} I take flight {v}', 'flight {v} is for {e}'],
    heldOut: ['{e} begins with {v}, my flight'],
    changes: true,
  },
  {
    slot: 'name',
    topic: 'guide',
    told: ['the guide for {e} is {v}', 'on {e} our guide is {v}', '{v} is the guide of {e}'],
    heldOut: ['{v} shows us round on {e} as guide'],
  },
];

/** The telling that names a new entity; `{v}` is a first fact about it. */
export const entityIntros: Readonly<Record<EntityKind, FactSpec>> = {
  project: intro(
    'project',
    { list: 'theme' },
    {
      told: [
        'I started project {p}, its theme is {v}',
        'my new project {p} has the theme {v}',
        'project {p} is mine now, theme {v}',
      ],
      heldOut: ['with {v} as theme I run a project named {p}'],
      ideal: 'theme of project {p} is {v}',
      question: 'What is the theme of project {p}?',
    },
  ),
  trip: intro('trip', 'date', {
    told: [
      'I plan a trip to {p}, start on {v}',
      'my trip to {p} will start on {v}',
      'on {v} I start my trip to {p}',
    ],
    heldOut: ['{v} marks the start of my trip to {p}'],
    ideal: 'start of the trip to {p} is {v}',
    question: 'When is the start of the trip to {p}?',
  }),
};

export const entityFacts: Readonly<Record<EntityKind, readonly FactSpec[]>> = {
  project: PROJECT_ROWS.map((row) => entityFact('project', row)),
  trip: TRIP_ROWS.map((row) => entityFact('trip', row)),
};

type IntroText = Pick<FactSpec, 'told' | 'heldOut' | 'ideal' | 'question'>;

function intro(kind: EntityKind, slot: Slot, text: IntroText): FactSpec {
  const noun = `the ${kind === 'project' ? 'theme' : 'start'} of ${ENTITY_NOUNS[kind].named}`;
  return {
    ...text,
    id: kind,
    family: 'entity',
    category: 'specificity',
    entity: kind,
    slots: { v: slot },
    blurred: `user has a ${kind} {p}`,
    described: `user told about a ${kind}`,
    criteria: [{ id: 'value', text: `says {v}, of the ${kind} {p}`, all: ['{v}'] }],
    noun,
  };
}

function entityFact(kind: EntityKind, row: EntityRow): FactSpec {
  const named = ENTITY_NOUNS[kind].named;
  const subject = `${row.topic} of ${named}`;
  return {
    id: `${kind}-${row.topic}`,
    family: 'entity',
    category: 'specificity',
    entity: kind,
    slots: { v: row.slot },
    told: row.told,
    heldOut: row.heldOut,
    ideal: `${subject} is {v}`,
    unresolved: `${row.topic} is {v}`,
    blurred: `${named} has a ${row.topic}`,
    described: `user told the ${row.topic} of ${named}`,
    question: `What is the ${row.topic} of ${named}?`,
    criteria: [{ id: 'value', text: `says that the ${subject} is {v}`, all: ['{v}'] }],
    noun: `the ${row.topic} of ${named}`,
    mine: `the ${row.topic} of {e}`,
    subject,
    ...(row.changes && { changes: true }),
  };
}
