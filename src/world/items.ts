/** The exam that follows from the truth: recall probes, traps and cross-chunk questions with their gold facts. */
import type { AnnotatedItem } from '../core/annotation.ts';
import type { Criterion } from '../core/exam.ts';
import type { Rng } from '../lib/rng.ts';
import type { ChatterTruth, FactTruth, SessionTruth } from './truth.ts';

/** A window holds up to five chunks: facts further apart would rarely be asked about together. */
const MAX_DISTANCE = 4;
const QUESTIONS_PER_SESSION = 2;

export function itemsOf(userId: string, truth: readonly SessionTruth[], rng: Rng): AnnotatedItem[] {
  const facts = truth.flatMap((session) => session.facts);
  const replaced = new Set(facts.flatMap(({ replaces }) => (replaces ? [replaces] : [])));
  return [
    ...facts
      .filter((fact) => fact.repeats === undefined)
      .map((fact) => probeOf(fact, replaced.has(fact.id))),
    ...truth.flatMap((session) => session.chatter.flatMap(trapOf)),
    ...questionsOf(userId, truth, rng),
  ];
}

/** A fact that changes later is asked for as it was before, so that its answer stays right. */
function probeOf(fact: FactTruth, isReplaced: boolean): AnnotatedItem {
  return {
    kind: 'recall',
    id: `${fact.id}-probe`,
    question: isReplaced ? `What was ${fact.noun} before it changed?` : fact.question,
    reference: isReplaced ? `Before the change: ${fact.texts.ideal}` : fact.texts.ideal,
    rubric: [...fact.rubric],
    facets: {
      value: fact.valueKind,
      form: fact.form,
      telling: fact.telling,
      family: fact.family,
      speaker: fact.speaker,
    },
    category: fact.category,
    messageIds: [...fact.messageIds],
    scoredMessageId: fact.scoredMessageId,
  };
}

function trapOf({ messageId, speaker, trap }: ChatterTruth): AnnotatedItem[] {
  if (trap === undefined) return [];
  return [
    {
      kind: 'trap',
      id: `${messageId}-trap`,
      question: trap.question,
      reference: 'There is no record of that.',
      rubric: [{ id: 'refusal', text: 'says that there is no such record', weight: 1 }],
      facets: { speaker },
      trapped: { all: [...trap.trapped], none: [] },
      scoredMessageId: messageId,
    },
  ];
}

interface Placed {
  readonly fact: FactTruth;
  readonly session: number;
}

function questionsOf(userId: string, truth: readonly SessionTruth[], rng: Rng): AnnotatedItem[] {
  const placed = truth.flatMap(({ facts }, session) =>
    facts.filter((fact) => fact.repeats === undefined).map((fact) => ({ fact, session })),
  );
  const used = new Set<string>();
  return truth.flatMap((_, session) => {
    const questions: AnnotatedItem[] = [];
    for (const later of rng.shuffle(placed.filter((one) => one.session === session))) {
      if (questions.length === QUESTIONS_PER_SESSION) break;
      const id = `${userId}-s${session}-q${questions.length}`;
      const question = later.fact.replaces
        ? changeQuestion(id, later, placed)
        : pairQuestion(id, partnersOf(later, placed, used));
      if (question === undefined) continue;
      questions.push(question);
    }
    return questions;
  });
}

function changeQuestion(
  id: string,
  later: Placed,
  placed: readonly Placed[],
): AnnotatedItem | undefined {
  const earlier = placed.find(({ fact }) => fact.id === later.fact.replaces);
  if (earlier === undefined)
    throw new Error(`${later.fact.id} replaces a fact that was never told`);
  if (later.session - earlier.session > MAX_DISTANCE) return undefined;
  const value = later.fact.values.v;
  if (value === undefined) throw new Error(`${later.fact.id} changed to nothing`);
  return questionItem(id, {
    question: `What is ${later.fact.noun} now and what was it earlier?`,
    kind: 'change',
    golds: [
      goldOf(earlier.fact, earlier.fact.messageIds),
      {
        text: later.fact.texts.ideal,
        all: [value.core],
        none: [],
        messageIds: [later.fact.scoredMessageId],
      },
    ],
  });
}

/** Two facts from different chunks, each asked about once. */
function partnersOf(later: Placed, placed: readonly Placed[], used: Set<string>): FactTruth[] {
  if (!isStable(later.fact, placed) || used.has(later.fact.id)) return [];
  const candidates = placed.filter(
    ({ fact, session }) =>
      session < later.session &&
      later.session - session <= MAX_DISTANCE &&
      !used.has(fact.id) &&
      isStable(fact, placed) &&
      fact.entity?.name === later.fact.entity?.name,
  );
  const earlier = candidates.at(-1);
  if (earlier === undefined) return [];
  used.add(earlier.fact.id).add(later.fact.id);
  return [earlier.fact, later.fact];
}

/** Neither changed nor a change: what is known about it is one value. */
function isStable(fact: FactTruth, placed: readonly Placed[]): boolean {
  return fact.telling !== 'change' && !placed.some((other) => other.fact.replaces === fact.id);
}

function pairQuestion(id: string, facts: readonly FactTruth[]): AnnotatedItem | undefined {
  const [first, second] = facts;
  if (first === undefined || second === undefined) return undefined;
  return questionItem(id, {
    question: `What do we know about ${first.noun} and ${second.noun}?`,
    kind: first.entity ? 'entity' : 'pair',
    golds: facts.map((fact) => goldOf(fact, fact.messageIds)),
  });
}

interface Gold {
  readonly text: string;
  readonly all: readonly string[];
  readonly none: readonly string[];
  readonly messageIds: readonly string[];
}

function goldOf(fact: FactTruth, messageIds: readonly string[]): Gold {
  const keys = fact.rubric.flatMap(({ key }) => (key ? [key] : []));
  return {
    text: fact.texts.ideal,
    all: keys.flatMap((key) => key.all),
    none: keys.flatMap((key) => key.none),
    messageIds,
  };
}

function questionItem(
  id: string,
  { question, kind, golds }: { question: string; kind: string; golds: readonly Gold[] },
): AnnotatedItem {
  const criteria = golds.map(
    ({ text, all, none }, index): Criterion => ({
      id: `g${index}`,
      text: `says that ${text}`,
      weight: 1,
      key: { all: [...all], none: [...none] },
    }),
  );
  return {
    kind: 'question',
    id,
    question,
    reference: golds.map(({ text }) => text).join('; '),
    rubric: criteria,
    facets: { kind },
    goldFacts: golds.map(({ text, all, none, messageIds }, index) => ({
      id: `${id}-g${index}`,
      text,
      weight: 1,
      key: { all: [...all], none: [...none] },
      messageIds: [...messageIds],
    })),
  };
}
