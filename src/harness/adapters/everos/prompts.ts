/** Reads the requests of EverOS 1.5.1 back into their variable parts; each is one user message. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import { parseJson } from '../../json-answer.ts';
import { cutTemplate, type Slot } from '../../template.ts';

const BOUNDARY_SHA256 = 'ebc45cd1bc0d642ffeb0bd520eb00d418d0dd45eea7ed321efda9b05350ff877';
const EPISODE_SHA256 = '1c1f9ffde2cd09e56bd088436b25fc7d1d88fda52a414a82e2ea82f529ccd89f';
const FACTS_SHA256 = '727b3d69923dc1064938757cd0edf1c7a2bbd37756e5ca4372f5d4011b21a4a4';
const PROFILE_SHA256 = '23f1e294cfbc43957729123863235a148120fda3425f4c0bbcb958649ebd964f';
const COMPACT_SHA256 = '7e1aa33734a7d6aed4bcdc53c2fd53b5769473df12e8336e7cfae3c8ca5b74ce';
const UPDATE_SHA256 = '17ced36542abac1c9418208f2db3840729fe88ef48cec3645a367471b9e7b7b5';

export interface BoundaryPrompt {
  /** `[position] [time] speaker: text` each, positions from 1. */
  readonly newMessages: readonly string[];
}

const BOUNDARY_SLOTS: readonly Slot[] = [
  {
    after: 'prefixed with a 1-based index and timestamp:\n\n```\n',
    before: '\n```\n\n### When to split\n',
    end: 'last',
  },
];
const NEXT_NUMBERED = /\n(?=\[\d+\] \[\d{4}-)/;

export function readBoundary(messages: readonly ChatMessage[]): BoundaryPrompt | undefined {
  const [log] = cut(messages, BOUNDARY_SLOTS, BOUNDARY_SHA256) ?? [];
  return log === undefined ? undefined : { newMessages: log.split(NEXT_NUMBERED) };
}

export interface EpisodePrompt {
  readonly start: string;
  /** `speaker: text` each. */
  readonly newMessages: readonly string[];
}

const EPISODE_SLOTS: readonly Slot[] = [
  { after: '\nConversation start time: ', before: '\nConversation content:\n', end: 'first' },
  {
    after: '\nConversation content:\n',
    before: '\n\nCustom instructions:\n\nFollow these principles',
    end: 'last',
  },
];
const TURN =
  /^\s*\{\n\s*"timestamp": .*,\n\s*"speaker": (?<speaker>.*),\n\s*"content": (?<content>[\s\S]*)\n\s*\}\s*$/;
const NEXT_TURN = /\n(?=\s*\{\n\s*"timestamp": \d{4}-\d{2}-\d{2} )/;

export function readEpisode(messages: readonly ChatMessage[]): EpisodePrompt | undefined {
  const [start, log] = cut(messages, EPISODE_SLOTS, EPISODE_SHA256) ?? [];
  if (start === undefined || log === undefined) return undefined;
  const turns = log.split(NEXT_TURN).filter((turn) => turn.trim() !== '');
  const newMessages = turns.flatMap((turn) => {
    const { speaker, content } = TURN.exec(turn)?.groups ?? {};
    return speaker === undefined || content === undefined ? [] : [`${speaker}: ${content}`];
  });
  return newMessages.length === turns.length ? { start, newMessages } : undefined;
}

export interface FactsPrompt {
  readonly episode: string;
  readonly time: string;
}

const FACTS_SLOTS: readonly Slot[] = [
  { after: '### INPUT\n- EPISODE_TEXT: "', before: '"\n- TIME: "', end: 'last' },
  { after: '"\n- TIME: "', before: '"  (the start time of the episode', end: 'last' },
];

export function readFacts(messages: readonly ChatMessage[]): FactsPrompt | undefined {
  const [episode, time] = cut(messages, FACTS_SLOTS, FACTS_SHA256) ?? [];
  return episode === undefined || time === undefined ? undefined : { episode, time };
}

export const PROFILE_TYPES = ['explicit_info', 'implicit_traits'] as const;
export type ProfileType = (typeof PROFILE_TYPES)[number];
export type ProfileItem = Readonly<Record<string, string>>;

export type Profile = Readonly<Record<ProfileType, readonly ProfileItem[]>>;

export interface ProfilePrompt {
  /** Absent while there is no profile yet. */
  readonly current: Profile | undefined;
  /** `[time] speaker: text` each. */
  readonly newMessages: readonly string[];
}

const CONVERSATION = '【Original Conversation】\n';
const RECORDS = '\n\n【Conversation Records】(Multiple conversations from the same topic)\n';
const UPDATE_SLOTS: readonly Slot[] = [
  { after: '=== explicit_info ===', before: '\n=== implicit_traits ===', end: 'first' },
  { after: '\n=== implicit_traits ===', before: RECORDS, end: 'first' },
  { after: RECORDS, before: '\n\n【Task】\n', end: 'last' },
];
const NEXT_RECORD = /\n(?=\[\d{4}-\d{2}-\d{2} )/;
const itemSchema = z.record(z.string(), z.string());

export function readProfile(messages: readonly ChatMessage[]): ProfilePrompt | undefined {
  return readFirstProfile(messages) ?? readProfileUpdate(messages);
}

/** The conversation is the last part: the static rest is all that stands before it. */
function readFirstProfile(messages: readonly ChatMessage[]): ProfilePrompt | undefined {
  const text = soleText(messages);
  const [log] =
    text === undefined
      ? []
      : (cutTemplate(
          `${text}${END}`,
          [{ after: CONVERSATION, before: END, end: 'last' }],
          [PROFILE_SHA256],
        ) ?? []);
  if (log === undefined) return undefined;
  return { current: undefined, newMessages: log.trimEnd().split(NEXT_RECORD) };
}

const END = '\u0000end';

function readProfileUpdate(messages: readonly ChatMessage[]): ProfilePrompt | undefined {
  const [explicit, implicit, log] = cut(messages, UPDATE_SLOTS, UPDATE_SHA256) ?? [];
  if (explicit === undefined || implicit === undefined || log === undefined) return undefined;
  const [explicit_info, implicit_traits] = [readItems(explicit), readItems(implicit)];
  if (explicit_info === undefined || implicit_traits === undefined) return undefined;
  return { current: { explicit_info, implicit_traits }, newMessages: log.split(NEXT_RECORD) };
}

const COMPACT_SLOTS: readonly Slot[] = [
  { after: 'The current user profile has ', before: ' items (explicit_info', end: 'first' },
  {
    after: '\n\nCurrent Profile:\n',
    before: '\n\n**IMPORTANT**: Output must have explicit_info',
    end: 'last',
  },
];
const profileSchema = z.strictObject({
  explicit_info: z.array(itemSchema),
  implicit_traits: z.array(itemSchema),
});

/** The profile that has grown too long. */
export function readCompact(messages: readonly ChatMessage[]): Profile | undefined {
  const [, json] = cut(messages, COMPACT_SLOTS, COMPACT_SHA256) ?? [];
  return json === undefined ? undefined : profileSchema.safeParse(parseJson(json)).data;
}

/** `[index] {json}` a line: JSON has no line break, so no item can break out of its line. */
function readItems(text: string): ProfileItem[] | undefined {
  const lines = text.split('\n').filter((line) => line !== '');
  const items = lines.map((line) => {
    const json = /^\[\d+\] (?<json>\{.*\})$/.exec(line)?.groups?.['json'];
    return json === undefined ? undefined : itemSchema.safeParse(parseJson(json)).data;
  });
  const read = items.filter((item) => item !== undefined);
  return read.length === items.length ? read : undefined;
}

function cut(
  messages: readonly ChatMessage[],
  slots: readonly Slot[],
  hash: string,
): readonly string[] | undefined {
  const text = soleText(messages);
  return text === undefined ? undefined : cutTemplate(text, slots, [hash]);
}

function soleText(messages: readonly ChatMessage[]): string | undefined {
  const [user] = messages;
  return messages.length === 1 && user?.role === 'user' ? user.content : undefined;
}
