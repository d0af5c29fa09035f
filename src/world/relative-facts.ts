/** Events whose date leans on the session's day: without that day "tomorrow" means nothing later. */
import type { FactSpec } from './spec.ts';

interface RelativeRow {
  readonly topic: string;
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
}

/** What `{r}` may say. Not split: the anchor beside it is what has to be copied. */
export const RELATIVE_PHRASES = [
  'tomorrow',
  'on Friday',
  'on Monday',
  'on Saturday',
  'next week',
  'next month',
] as const;

const ROWS: Readonly<Record<string, RelativeRow>> = {
  checkup: {
    topic: 'checkup',
    told: ['my checkup is {r}', 'I have a checkup {r}', 'they do my checkup {r}'],
    heldOut: ['I must get up early for a checkup {r}'],
  },
  interview: {
    topic: 'interview',
    told: ['my interview is {r}', 'I have an interview {r}', 'the interview will be {r}'],
    heldOut: ['they want me for an interview {r}'],
  },
  concert: {
    topic: 'concert',
    told: ['my concert is {r}', 'we go to a concert {r}', 'I have a concert {r}'],
    heldOut: ['I got a seat for a concert {r}'],
  },
  delivery: {
    topic: 'delivery',
    told: ['my delivery comes {r}', 'I get a delivery {r}', 'the delivery is {r}'],
    heldOut: ['I stay home for a delivery {r}'],
  },
  wedding: {
    topic: 'wedding',
    told: ['the wedding is {r}', 'we have a wedding {r}', 'I am at a wedding {r}'],
    heldOut: ['my suit is ready for the wedding {r}'],
  },
  inspection: {
    topic: 'inspection',
    told: ['the inspection is {r}', 'we get an inspection {r}', 'they do the inspection {r}'],
    heldOut: ['we clean up for the inspection {r}'],
  },
};

function relative([id, row]: readonly [string, RelativeRow]): FactSpec {
  const main = `user has a ${row.topic} {r}`.replace('a in', 'an in');
  return {
    id,
    family: 'relative',
    category: 'specificity',
    slots: {},
    told: row.told,
    heldOut: row.heldOut,
    ideal: `${main}, said on {d}`,
    withoutSecondary: main,
    blurred: `user has a ${row.topic} some day`,
    described: `user told about the ${row.topic}`,
    // Not "when": a reader may show the date a memory was stored on, and the day must stand in the memory itself.
    question: `What do we know about the ${row.topic}?`,
    criteria: [
      {
        id: 'when',
        text: `says that the ${row.topic} is {r}, counted from {d}`,
        all: ['{r}', '{d}'],
      },
    ],
    noun: `the ${row.topic}`,
  };
}

export const relativeFacts: readonly FactSpec[] = Object.entries(ROWS).map(relative);
