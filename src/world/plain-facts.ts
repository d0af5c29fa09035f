/** Plain facts, one value each: names, numbers, versions, paths, dates, amounts, times, codes and words. */
import { LIFE_ROWS } from './plain-facts-life.ts';
import { WORK_ROWS } from './plain-facts-work.ts';
import type { FactSpec } from './spec.ts';
import type { Slot } from './values.ts';

export interface PlainRow {
  readonly slot: Slot;
  /** The topic as the user, a question and a memory name it: `my/the/user's ${topic}`. */
  readonly topic: string;
  readonly question: string;
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
  /** Not the user's own but a thing of the world: a memory says "door code", not "user's door code". */
  readonly impersonal?: true;
  readonly changes?: true;
}

function plain([id, row]: readonly [string, PlainRow]): FactSpec {
  const subject = row.impersonal ? row.topic : `user's ${row.topic}`;
  return {
    id,
    family: 'plain',
    category: 'specificity',
    slots: { v: row.slot },
    told: row.told,
    heldOut: row.heldOut,
    ideal: `${subject} is {v}`,
    blurred: row.impersonal ? `there is a ${row.topic}` : `user has a ${row.topic}`,
    described: `user told the ${row.topic}`,
    question: row.question,
    criteria: [{ id: 'value', text: `says that the ${row.topic} is {v}`, all: ['{v}'] }],
    noun: `the ${row.topic}`,
    mine: row.impersonal ? `the ${row.topic}` : `my ${row.topic}`,
    subject,
    ...(row.changes && { changes: true }),
  };
}

export const plainFacts: readonly FactSpec[] = Object.entries({ ...LIFE_ROWS, ...WORK_ROWS }).map(
  plain,
);
