/** EverOS's calls about the conversation: cut it, narrate each piece, list its facts. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type { AnswerVerdict, Stage } from '../../../core/stage.ts';
import { malformed } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { sectionView } from '../../section-view.ts';
import { escapeBraces, readBraced } from './braces.ts';
import {
  type BoundaryPrompt,
  type EpisodePrompt,
  type FactsPrompt,
  readBoundary,
  readEpisode,
  readFacts,
} from './prompts.ts';

/** `<|everos.boundary|>`, `<|new|>[position] [time] speaker: text…` */
export function renderBoundaryView({ newMessages }: BoundaryPrompt): ChatMessage[] {
  return sectionView('<|everos.boundary|>', [['<|new|>', newMessages]]);
}

const boundaryAnswer = z.strictObject({
  reasoning: z.string().optional(),
  boundaries: z.array(z.int()),
  /** Has to be there; its value is not used. */
  should_wait: z.boolean(),
});

const boundary = promptStage('boundary', readBoundary, renderBoundaryView);

export const boundaryStage: Stage = {
  ...boundary.stage,
  read: (messages) => ({
    newMessages: boundary.promptOf(messages).newMessages,
    existingMemories: [],
  }),
  check: (answer, messages) => checkBoundary(answer, boundary.promptOf(messages)),
  compose: () => JSON.stringify({ reasoning: '', boundaries: [], should_wait: false }),
};

/** A cut outside of the conversation is dropped, and cuts out of order are sorted: neither is the answer's own. */
export function checkBoundary(answer: string, { newMessages }: BoundaryPrompt): AnswerVerdict {
  const read = readBraced(answer, boundaryAnswer);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const { boundaries } = read.value;
  const rising = boundaries.every((cut, i) => i === 0 || cut > Number(boundaries[i - 1]));
  const within = boundaries.every((cut) => cut >= 1 && cut < newMessages.length);
  return rising && within ? { kind: 'well-formed', operations: [] } : malformed('schema-invalid');
}

/** `<|everos.episode|>`, `<|new|>speaker: text…<|date|>start` */
export function renderEpisodeView({ newMessages, start }: EpisodePrompt): ChatMessage[] {
  return sectionView('<|everos.episode|>', [
    ['<|new|>', newMessages],
    ['<|date|>', [start]],
  ]);
}

/** A line like a heading ends the stored text: what follows it is lost. */
const HEADING = /^### /m;
const storedText = z
  .string()
  .min(1)
  .refine((one) => !HEADING.test(one));
const episodeAnswer = z.strictObject({
  title: z.string(),
  content: storedText,
  summary: z.string().optional(),
});

const episode = promptStage('episode', readEpisode, renderEpisodeView);

export const episodeStage: Stage = {
  ...episode.stage,
  // The narrative is one text: the whole conversation is what is new in it.
  read: (messages) => ({
    newMessages: [episode.promptOf(messages).newMessages.join('\n')],
    existingMemories: [],
  }),
  check: (answer) => {
    const read = readBraced(answer, episodeAnswer);
    return read.kind === 'malformed'
      ? malformed(...read.reasons)
      : { kind: 'well-formed', operations: [{ kind: 'add', text: read.value.content }] };
  },
  // There is an episode in any case.
  compose: ([first]) =>
    escapeBraces({ title: 'Conversation', content: first ?? 'Nothing to remember was said.' }),
};

/** `<|everos.facts|>`, `<|new|>episode<|date|>time` */
export function renderFactsView({ episode, time }: FactsPrompt): ChatMessage[] {
  return sectionView('<|everos.facts|>', [
    ['<|new|>', [episode]],
    ['<|date|>', [time]],
  ]);
}

const factsAnswer = z.strictObject({
  atomic_facts: z.strictObject({ time: z.string().min(1), atomic_fact: z.array(storedText) }),
});

const facts = promptStage('facts', readFacts, renderFactsView);

export const factsStage: Stage = {
  ...facts.stage,
  read: (messages) => ({
    newMessages: [facts.promptOf(messages).episode],
    existingMemories: [],
  }),
  check: (answer) => {
    const read = readBraced(answer, factsAnswer);
    if (read.kind === 'malformed') return malformed(...read.reasons);
    const facts = read.value.atomic_facts.atomic_fact;
    return { kind: 'well-formed', operations: facts.map((text) => ({ kind: 'add', text })) };
  },
  // The first text is the episode itself.
  compose: (texts) =>
    escapeBraces({ atomic_facts: { time: 'unknown', atomic_fact: texts.slice(1) } }),
};
