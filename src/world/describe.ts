/** What a world is made of, counted: for documentation, and to see that no kind of fact is missing. */
import { renderMessage } from '../core/conversation.ts';
import type { FactTruth, WorldUser } from './truth.ts';

interface Spread {
  readonly mean: number;
  readonly max: number;
}

export interface WorldDescription {
  readonly users: number;
  /** One chunk each, as sessions have at most 14 turns. */
  readonly sessions: number;
  readonly wordsPerChunk: Spread;
  readonly wordsPerIdealMemory: Spread;
  /** New facts; repeats are not among them. */
  readonly factsPerChunk: Spread;
  readonly trapsPerChunk: Spread;
  /** By the session of the latest gold fact. Recall probes are as many as new facts. */
  readonly questionsPerChunk: Spread;
  readonly shareOfChunksWithTrap: number;
  /** Chunks that some cross-chunk question credits. */
  readonly shareOfChunksWithGoldFact: number;
  /** Recall probes by facet. */
  readonly categories: Readonly<Record<string, number>>;
  readonly valueKinds: Readonly<Record<string, number>>;
  readonly tellings: Readonly<Record<string, number>>;
  readonly forms: Readonly<Record<string, number>>;
}

export function describeWorld(users: readonly WorldUser[]): WorldDescription {
  const sessions = users.flatMap((user) => user.sessions);
  const truth = users.flatMap((user) => user.truth);
  const told = truth.flatMap(({ facts }) => facts);
  const fresh = told.filter(isFresh);
  const count = (by: (fact: FactTruth) => string) => countBy(fresh, by);
  const trapsPerChunk = truth.map(
    ({ chatter }) => chatter.filter(({ trap }) => trap !== undefined).length,
  );
  return {
    users: users.length,
    sessions: sessions.length,
    wordsPerChunk: spread(
      sessions.map(({ messages }) => words(messages.map(renderMessage).join('\n'))),
    ),
    wordsPerIdealMemory: spread(fresh.map(({ texts }) => words(texts.ideal))),
    factsPerChunk: spread(truth.map(({ facts }) => facts.filter(isFresh).length)),
    trapsPerChunk: spread(trapsPerChunk),
    questionsPerChunk: spread(questionsPerChunk(users)),
    shareOfChunksWithTrap: trapsPerChunk.filter((traps) => traps > 0).length / truth.length,
    shareOfChunksWithGoldFact: goldChunks(users) / truth.length,
    categories: count(({ category }) => category),
    valueKinds: count(({ valueKind }) => valueKind),
    tellings: countBy(told, ({ telling }) => telling),
    forms: count(({ form }) => form),
  };
}

function isFresh(fact: FactTruth): boolean {
  return fact.repeats === undefined;
}

/** A question is asked of the session whose messages its last gold fact cites. */
function questionsPerChunk(users: readonly WorldUser[]): number[] {
  return users.flatMap(({ sessions, items }) => {
    const latest = items.flatMap((item) =>
      item.kind === 'question' ? [item.goldFacts.at(-1)?.messageIds.at(-1)] : [],
    );
    return sessions.map(
      ({ messages }) => latest.filter((id) => messages.some((message) => message.id === id)).length,
    );
  });
}

function goldChunks(users: readonly WorldUser[]): number {
  const gold = new Set(
    users.flatMap(({ items }) =>
      items.flatMap((item) =>
        item.kind === 'question' ? item.goldFacts.map(({ messageIds }) => messageIds[0]) : [],
      ),
    ),
  );
  const sessions = users.flatMap((user) => user.sessions);
  return sessions.filter(({ messages }) => messages.some(({ id }) => gold.has(id))).length;
}

function words(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

function spread(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error('nothing to describe: the world is empty');
  return {
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
    max: Math.max(...values),
  };
}

function countBy<T>(values: readonly T[], by: (value: T) => string): Record<string, number> {
  const groups = new Map<string, number>();
  for (const value of values) {
    const key = by(value);
    const before = groups.get(key);
    groups.set(key, before === undefined ? 1 : before + 1);
  }
  return Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}
