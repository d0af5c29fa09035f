/** Writers made of the truth: a careful clerk and its careless cousins, for supervised pretraining. */
import type { Rng } from '../lib/rng.ts';
import type { FactTexts, FactTruth, SessionTruth } from './truth.ts';

/** How often each carelessness strikes, 0 to 1. Zero everywhere is the careful clerk. */
export interface ClerkStyle {
  /** A fact without its value. */
  readonly blur: number;
  /** That something was told, not what. */
  readonly describe: number;
  /** Small talk and filler kept (each piece on its own). */
  readonly keepChatter: number;
  /** Side remark, list tail or anchor date lost. */
  readonly dropSecondary: number;
  /** A change without what was before. */
  readonly dropOldValue: number;
  /** Negation turned round; of a correction, the wrong value kept. */
  readonly flipNegation: number;
  /** What is known already stored again. */
  readonly storeRepeats: number;
  /** A fact left out. */
  readonly skip: number;
}

export const CAREFUL: ClerkStyle = {
  blur: 0,
  describe: 0,
  keepChatter: 0,
  dropSecondary: 0,
  dropOldValue: 0,
  flipNegation: 0,
  storeRepeats: 0,
  skip: 0,
};

export interface ClerkMemory {
  readonly text: string;
  readonly attributedTo: 'user' | 'assistant';
  /** What a tool was used for, where its result states the memory. */
  readonly topic?: string;
}

/** What a clerk of this style stores of a session, in the order of the conversation. */
export function clerkMemories(session: SessionTruth, style: ClerkStyle, rng: Rng): string[] {
  return clerkRecords(session, style, rng).map(({ text }) => text);
}

/** The same with the speaker, as frameworks that ask for an attribution want it. */
export function clerkRecords(session: SessionTruth, style: ClerkStyle, rng: Rng): ClerkMemory[] {
  const facts = session.facts.flatMap((fact) => {
    if (rng.chance(fact.repeats === undefined ? style.skip : 1 - style.storeRepeats)) return [];
    return [
      {
        at: fact.scoredMessageId,
        memory: {
          text: textOf(fact.texts, style, rng),
          attributedTo: fact.speaker,
          ...(fact.family === 'tool' && { topic: fact.noun }),
        },
      },
    ];
  });
  const chatter = session.chatter.flatMap(({ messageId, speaker, stored }) =>
    rng.chance(style.keepChatter)
      ? [{ at: messageId, memory: { text: stored, attributedTo: speaker } }]
      : [],
  );
  return [...facts, ...chatter]
    .sort((a, b) => messageIndex(a.at) - messageIndex(b.at))
    .map(({ memory }) => memory);
}

/**
 * The session as a writer can know it who sees only these memories: a fact that leans on an earlier chunk which they
 * lack becomes what the chunk alone says, and a repeat of what they lack is news. Without it, pretraining would teach
 * invention and silence.
 */
export function resolvable(session: SessionTruth, existing: readonly string[]): SessionTruth {
  const bank = existing.join('\n');
  return {
    ...session,
    facts: session.facts.map((fact) => {
      if (!fact.needs.every((phrase) => holds(bank, phrase))) return unresolvedFact(fact);
      return fact.repeats !== undefined && !holdsValue(bank, fact) ? asNews(fact) : fact;
    }),
  };
}

/** As whole words: `852` is not in `8527`. */
function holds(text: string, phrase: string): boolean {
  const isInside = (character: string | undefined) =>
    character !== undefined && /[\p{L}\p{N}]/u.test(character);
  for (let at = text.indexOf(phrase); at >= 0; at = text.indexOf(phrase, at + 1)) {
    if (!isInside(text[at - 1]) && !isInside(text[at + phrase.length])) return true;
  }
  return false;
}

function holdsValue(bank: string, { values }: FactTruth): boolean {
  return Object.values(values).every(({ core }) => holds(bank, core));
}

function asNews({ repeats: _, ...fact }: FactTruth): FactTruth {
  return fact;
}

function unresolvedFact(fact: FactTruth): FactTruth {
  const { unresolved, ...texts } = fact.texts;
  if (unresolved === undefined) return fact;
  return { ...fact, needs: [], texts: { ...texts, ideal: unresolved } };
}

function textOf(texts: FactTexts, style: ClerkStyle, rng: Rng): string {
  if (rng.chance(style.blur)) return texts.blurred;
  if (rng.chance(style.describe)) return texts.described;
  const variants = [
    [style.flipNegation, texts.flipped],
    [style.dropOldValue, texts.withoutOld],
    [style.dropSecondary, texts.withoutSecondary],
  ] as const;
  for (const [probability, text] of variants) {
    if (text !== undefined && rng.chance(probability)) return text;
  }
  return texts.ideal;
}

function messageIndex(messageId: string): number {
  return Number(messageId.slice(messageId.lastIndexOf('-m') + 2));
}
