/** The clerks whose answers the start weights imitate, and the ways in which a careless one breaks Mem0's JSON. */
import type { Rng } from '../../src/lib/rng.ts';
import { CAREFUL, type ClerkMemory, type ClerkStyle } from '../../src/world/clerk.ts';

export interface AnswerStyle {
  readonly clerk: ClerkStyle;
  /** Share of answers that are not the JSON asked for. */
  readonly malformed: number;
}

/** Learns the language and to copy. */
export const TRUNK: AnswerStyle = { clerk: CAREFUL, malformed: 0 };

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

export function answerText(memories: readonly ClerkMemory[]): string {
  return JSON.stringify({
    memory: memories.map(({ text, attributedTo }, index) => ({
      id: String(index),
      text,
      attributed_to: attributedTo,
    })),
  });
}

/** One of the breakages, all of which lose the whole answer or a part of it in Mem0. */
export function breakAnswer(answer: string, memories: readonly ClerkMemory[], rng: Rng): string {
  const cutAt = (): string => answer.slice(0, rng.int(10, Math.max(10, answer.length - 6)));
  const breakages = [
    () => answer.slice(0, -1),
    () => answer.slice(0, -2),
    cutAt,
    cutAt,
    () => answer.replaceAll('"text":', '"content":'),
    () => answer.replace('{"memory":', '{"memories":'),
    () => answer.replace('"id":"0",', ''),
    () => answer.replaceAll('","attributed_to"', ',"attributed_to"'),
    () => memories.map(({ text }) => `- ${text}`).join('\n'),
    () => ['nothing to store', 'ok, I will remember that', 'sure'][rng.int(0, 2)] ?? 'sure',
  ];
  return rng.pick(breakages)();
}
