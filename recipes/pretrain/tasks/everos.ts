/** EverOS's four requests. It is held out of training in frameworks; its protocol is learnt here like every other's. */
import {
  type BoundaryPrompt,
  type EpisodePrompt,
  type FactsPrompt,
  type ProfilePrompt,
  readBoundary,
  readEpisode,
  readFacts,
  readProfile,
} from '../../../src/harness/adapters/everos/prompts.ts';
import {
  checkBoundary,
  episodeStage,
  factsStage,
  renderBoundaryView,
  renderEpisodeView,
  renderFactsView,
} from '../../../src/harness/adapters/everos/stages.ts';
import {
  checkFirstProfile,
  checkProfileUpdate,
  renderProfileView,
} from '../../../src/harness/adapters/everos/stages-profile.ts';
import { composeJson } from '../../../src/harness/json-answer.ts';
import type { Extraction, Merge } from './contract.ts';
import { joined, parted } from './memories.ts';
import { line, withoutToolRole } from './messages.ts';

const SCENES = ['chat', 'working', 'coding'] as const;
const NOTHING = 'Nothing to remember was said.';

/** A chunk is one conversation: it is never cut. */
export const everosBoundary: Merge<BoundaryPrompt> = {
  kind: 'merge',
  name: 'everos.boundary',
  scenes: SCENES,
  read: readBoundary,
  view: renderBoundaryView,
  check: checkBoundary,
  prompt: async (_drafts, { messages, at }) => ({
    newMessages: messages
      .map(withoutToolRole)
      .map(({ role, text }, i) => `[${i + 1}] [${secondOf(at, i)}] ${role}: ${text}`),
  }),
  decide: () => composeJson({ boundaries: [], should_wait: false }),
};

export const everosEpisode: Extraction<EpisodePrompt> = {
  kind: 'extraction',
  name: 'everos.episode',
  scenes: SCENES,
  read: readEpisode,
  view: renderEpisodeView,
  check: (answer) => episodeStage.check(answer, []),
  prompt: async ({ messages, at }) => ({
    start: `${secondOf(at).slice(0, -3)} UTC (${weekday(at)})`,
    newMessages: messages.map(withoutToolRole).map(line),
  }),
  known: () => [],
  write: (memories) =>
    composeJson({
      title: 'Conversation',
      content: memories.length === 0 ? NOTHING : joined(memories.map(({ text }) => text)),
    }),
  texts: (answer) => parted(JSON.parse(answer).content).filter((text) => text !== NOTHING),
};

/** The episode taken apart again. */
export const everosFacts: Merge<FactsPrompt> = {
  kind: 'merge',
  name: 'everos.facts',
  scenes: SCENES,
  read: readFacts,
  view: renderFactsView,
  check: (answer) => factsStage.check(answer, []),
  prompt: async (drafts, { at }) => ({
    episode: drafts.length === 0 ? NOTHING : joined(drafts.map(({ text }) => text)),
    time: longTime(at),
  }),
  decide: ({ episode }) =>
    composeJson({
      atomic_facts: {
        time: 'unknown',
        atomic_fact: parted(episode).filter((text) => text !== NOTHING),
      },
    }),
};

/** The profile stays empty: what it could say stands in episodes and facts. */
export const everosProfile: Merge<ProfilePrompt> = {
  kind: 'merge',
  name: 'everos.profile',
  scenes: SCENES,
  read: readProfile,
  view: renderProfileView,
  check: (answer, { current }) =>
    current === undefined ? checkFirstProfile(answer) : checkProfileUpdate(answer, current),
  prompt: async (_drafts, { messages, at, kept }) => ({
    current: kept.length === 0 ? undefined : { explicit_info: [], implicit_traits: [] },
    newMessages: messages
      .map(withoutToolRole)
      .map(({ role, text }, i) => `[${secondOf(at, i)}] ${role}(user_id:${role}): ${text}`),
  }),
  decide: ({ current }) =>
    current === undefined
      ? composeJson({ explicit_info: [], implicit_traits: [] })
      : composeJson({ operations: [{ action: 'none' }] }),
};

/** YYYY-MM-DD HH:MM:SS on the conversation's clock; a message comes a second after the one before. */
function secondOf(at: string, position = 0): string {
  const moment = new Date(wallMs(at) + 1000 * position);
  return moment.toISOString().slice(0, 19).replace('T', ' ');
}

function wallMs(at: string): number {
  return Date.parse(`${at.slice(0, 19)}Z`);
}

function weekday(at: string): string {
  return inEnglish(at, { weekday: 'long' });
}

/** `May 09, 2023(Tuesday) at 12:11 PM` */
function longTime(at: string): string {
  const day = inEnglish(at, { month: 'long', day: '2-digit', year: 'numeric' });
  const time = inEnglish(at, { hour: '2-digit', minute: '2-digit', hour12: true });
  return `${day}(${weekday(at)}) at ${time}`;
}

function inEnglish(at: string, format: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-US', { ...format, timeZone: 'UTC' }).format(wallMs(at));
}
