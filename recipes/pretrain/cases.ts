/** What a writer is shown: a user's chunks in order, each as some framework's request, with bank, history and date. */
import type { ChatMessage } from '../../src/core/chat.ts';
import type { AnswerVerdict } from '../../src/core/stage.ts';
import type { Rng } from '../../src/lib/rng.ts';
import { type ClerkStyle, clerkRecords, resolvable } from '../../src/world/clerk.ts';
import type { SessionTruth, WorldUser } from '../../src/world/truth.ts';
import type { Kept, Scenery } from './tasks/contract.ts';
import type { AnyExtraction, AnyMerge } from './tasks/tasks.ts';

export interface TaskCase {
  readonly task: string;
  /** The view of the request: what is tokenised. */
  readonly messages: readonly ChatMessage[];
  check(answer: string): AnswerVerdict;
  /** A clerk's answer of this style. */
  answer(style: ClerkStyle, rng: Rng): string;
  /** The memories in a well-formed answer, and the truth as far as the request lets it be known; absent for a merge. */
  readonly extraction?: {
    readonly truth: SessionTruth;
    texts(answer: string): readonly string[];
  };
}

/** Which tasks are made of a chunk; called once a chunk, in order. */
export type Choice = (scenery: Scenery) => {
  readonly extractions: readonly AnyExtraction[];
  readonly merges: readonly AnyMerge[];
};

export interface CaseOptions {
  readonly choose: Choice;
  /** Of the clerk who filled the bank. */
  readonly bank: ClerkStyle;
  /** Memories that another user's chunks left in the bank: other values of the same attributes, mostly. */
  readonly strangers?: readonly Kept[];
  readonly rng: Rng;
}

/** How often a draft stands in the bank already, so that a merge has something to leave out. */
const KNOWN_DRAFT_SHARE = 0.2;

/** A world's session of at most 14 turns is one chunk. */
export async function casesOf(user: WorldUser, options: CaseOptions): Promise<TaskCase[]> {
  const { choose, bank, strangers = [], rng } = options;
  const cases: TaskCase[] = [];
  const kept: Kept[] = [...strangers];
  for (const [index, { at, scene, messages }] of user.sessions.entries()) {
    const earlier = user.sessions.slice(0, index).map((session) => session.messages);
    const scenery: Scenery = { at, scene, messages, earlier, kept: [...kept] };
    const told = user.truth[index] as SessionTruth;
    const texts = kept.map(({ text }) => text);
    const stream = rng.fork(`chunk ${index}`);
    const { extractions, merges } = choose(scenery);
    for (const task of extractions) cases.push(await extractionCase(task, scenery, told));
    for (const task of merges) {
      const made = await mergeCase(task, scenery, { told, bank, rng: stream.fork(task.name) });
      if (made !== undefined) cases.push(made);
    }
    for (const memory of clerkRecords(resolvable(told, texts), bank, stream)) {
      if (!texts.includes(memory.text)) kept.push({ ...memory, at });
    }
  }
  return cases;
}

/** What a clerk of this style makes of all the user's chunks. */
export function bankOf(user: WorldUser, style: ClerkStyle, rng: Rng): Kept[] {
  return user.sessions.flatMap(({ at }, index) =>
    clerkRecords(user.truth[index] as SessionTruth, style, rng).map((memory) => ({
      ...memory,
      at,
    })),
  );
}

/** The session as far as the request lets it be known. */
export function shownTruth(task: AnyExtraction, prompt: unknown, told: SessionTruth): SessionTruth {
  const truth = resolvable(told, task.known(prompt));
  return { ...truth, facts: truth.facts.filter((fact) => task.shows?.(fact) ?? true) };
}

async function extractionCase(
  task: AnyExtraction,
  scenery: Scenery,
  told: SessionTruth,
): Promise<TaskCase> {
  const prompt = await task.prompt(scenery);
  const truth = shownTruth(task, prompt, told);
  return {
    task: task.name,
    messages: task.view(prompt),
    check: (answer) => task.check(answer, prompt),
    answer: (style, rng) => task.write(clerkRecords(truth, style, rng), prompt),
    extraction: { truth, texts: (answer) => task.texts(answer) },
  };
}

async function mergeCase(
  task: AnyMerge,
  scenery: Scenery,
  { told, bank, rng }: { told: SessionTruth; bank: ClerkStyle; rng: Rng },
): Promise<TaskCase | undefined> {
  const texts = scenery.kept.map(({ text }) => text);
  const drafts = clerkRecords(resolvable(told, texts), bank, rng);
  const { at: firstAt } = scenery.kept[0] ?? scenery;
  const known = drafts.filter(() => rng.chance(KNOWN_DRAFT_SHARE));
  const kept = [...scenery.kept, ...known.map((memory) => ({ ...memory, at: firstAt }))];
  const prompt = await task.prompt(drafts, { ...scenery, kept });
  if (prompt === undefined) return undefined;
  return {
    task: task.name,
    messages: task.view(prompt),
    check: (answer) => task.check(answer, prompt),
    answer: () => task.decide(prompt),
  };
}
