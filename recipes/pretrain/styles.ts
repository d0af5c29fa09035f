/** The clerks whose answers the start weights imitate. */
import type { Rng } from '../../src/lib/rng.ts';
import { CAREFUL, type ClerkStyle } from '../../src/world/clerk.ts';

export interface AnswerStyle {
  readonly clerk: ClerkStyle;
  /** Share of answers that are not the JSON asked for. */
  readonly malformed: number;
}

/** Learns the language and to copy. */
export const TRUNK: AnswerStyle = { clerk: CAREFUL, malformed: 0 };

/** Words that a careful clerk never writes: what is kept by mistake, and what is said in its place. */
export const WIDE: AnswerStyle = {
  clerk: {
    blur: 0.25,
    describe: 0.1,
    keepChatter: 0.5,
    dropSecondary: 0.4,
    dropOldValue: 0.4,
    flipNegation: 0.15,
    storeRepeats: 0.5,
    skip: 0,
  },
  malformed: 0,
};

/** Obeys the protocol; keeps some chatter, blurs or describes some details. */
export const TEACHER: AnswerStyle = {
  clerk: {
    blur: 0.1,
    describe: 0.06,
    keepChatter: 0.2,
    dropSecondary: 0.25,
    dropOldValue: 0.25,
    flipNegation: 0.05,
    storeRepeats: 0.3,
    skip: 0.03,
  },
  malformed: 0,
};

/** Knows the language, breaks the protocol often, stores carelessly. */
export const BASE: AnswerStyle = {
  clerk: {
    blur: 0.3,
    describe: 0.1,
    keepChatter: 0.4,
    dropSecondary: 0.5,
    dropOldValue: 0.5,
    flipNegation: 0.15,
    storeRepeats: 0.6,
    skip: 0.08,
  },
  malformed: 0.27,
};

/** What fills the banks that prompts show: tidy ones and all kinds of untidy ones. */
export function bankStyle(rng: Rng): ClerkStyle {
  if (rng.chance(0.4)) return CAREFUL;
  const upTo = (limit: number): number => limit * rng.next();
  return {
    blur: upTo(0.4),
    describe: upTo(0.2),
    keepChatter: upTo(0.5),
    dropSecondary: upTo(0.6),
    dropOldValue: upTo(0.6),
    flipNegation: upTo(0.2),
    storeRepeats: upTo(0.7),
    skip: upTo(0.3),
  };
}
