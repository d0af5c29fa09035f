/** Reads the additive extraction request of Mem0's SDKs back into the parts that the SDK put together. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import { sha256 } from '../../../lib/hash.ts';

/** What tells the SDKs' spellings of one and the same request apart. */
export interface Mem0Dialect {
  /** Of the static system prompt. Another SDK version has another one and is not recognised. */
  readonly systemSha256: string;
  /** How the SDK's language writes the list of memories as JSON, byte for byte. */
  readonly spell: (memories: Mem0Prompt['existingMemories']) => string;
  /** Whether the last of the new messages ends its line too. */
  readonly endsLine: boolean;
}

/** mem0ai 3.3.1 for Node: 33,655 characters of system prompt. */
const NODE: Mem0Dialect = {
  systemSha256: 'f7601d55bea65c561206224f3237689c63c06a5aafee54f415e764b0de6bff7e',
  spell: (memories) => JSON.stringify(memories),
  endsLine: false,
};

/** How many messages of earlier writes the SDK shows, and where it cuts each (then appends `...`). */
export const LAST_MESSAGES = 10;
export const LAST_MESSAGE_CHARS = 300;

/** The variable parts of one extraction request. */
export interface Mem0Prompt {
  /** `role: text` each, cut by the SDK. */
  readonly lastMessages: readonly string[];
  /** Hits of the SDK's own search, ids renumbered from 0. */
  readonly existingMemories: readonly { readonly id: string; readonly text: string }[];
  /** `role: text` each, whole. */
  readonly newMessages: readonly string[];
  /** YYYY-MM-DD, observation and current date at once. */
  readonly date: string;
}

const HEAD = '## Summary\n\n\n## Last k Messages\n';
const EXISTING = '\n\n## Recently Extracted Memories\n[]\n\n## Existing Memories\n';
const NEW = '\n\n## New Messages\n';
const TAIL =
  /\n\n## Observation Date\n(\d{4}-\d{2}-\d{2})\n\n## Current Date\n(\d{4}-\d{2}-\d{2})\n\n# Output:$/;
const MESSAGE = /^(?:user|assistant|tool): /;
const NEXT_MESSAGE = /\n(?=(?:user|assistant|tool): )/;

const existingSchema = z.array(z.strictObject({ id: z.string(), text: z.string() }));

/**
 * The `lastMessages` that the SDK shows after these earlier writes, oldest first: it fills its ten places from the newest
 * write backwards, and of each write takes the first messages (they share one time stamp), cut to 300 UTF-16 units.
 */
export function lastMessagesOf(
  writes: readonly (readonly { readonly role: string; readonly content: string }[])[],
): string[] {
  let places = LAST_MESSAGES;
  const kept = writes.toReversed().map((write) => {
    const first = write.slice(0, places);
    places -= first.length;
    return first;
  });
  return kept
    .toReversed()
    .flat()
    .filter(({ content }) => content !== '')
    .map(({ role, content }) =>
      content.length <= LAST_MESSAGE_CHARS
        ? `${role}: ${content}`
        : `${role}: ${content.slice(0, LAST_MESSAGE_CHARS)}...`,
    );
}

/** Undefined where the request is not of this shape. */
export function readMem0Prompt(
  messages: readonly ChatMessage[],
  dialect: Mem0Dialect = NODE,
): Mem0Prompt | undefined {
  const [system, user] = messages;
  if (messages.length !== 2 || system?.role !== 'system' || user?.role !== 'user') return undefined;
  if (sha256(system.content) !== dialect.systemSha256) return undefined;
  return readUserPrompt(user.content, dialect);
}

function readUserPrompt(text: string, dialect: Mem0Dialect): Mem0Prompt | undefined {
  const tail = TAIL.exec(text);
  const date = tail?.[1];
  if (!text.startsWith(HEAD) || tail === null || date === undefined || date !== tail[2]) {
    return undefined;
  }
  const body = text.slice(HEAD.length, tail.index);
  const split = splitBody(body, dialect);
  return split === undefined ? undefined : { ...split, date };
}

/**
 * Conversation text may spell the SDK's headings, so the known outer order decides: the tail is anchored at the end,
 * and the first complete middle (headings around one line of canonical JSON with ids 0, 1, …) parts last from new
 * messages. New messages are therefore never shortened; only text that was already in an earlier chunk and forges the
 * whole middle within its 300 characters can move into them.
 */
function splitBody(body: string, dialect: Mem0Dialect): Omit<Mem0Prompt, 'date'> | undefined {
  for (let at = body.indexOf(EXISTING); at !== -1; at = body.indexOf(EXISTING, at + 1)) {
    const from = at + EXISTING.length;
    const to = body.indexOf(NEW, from);
    if (to === -1) return undefined;
    const existingMemories = readExisting(body.slice(from, to), dialect);
    const last = body.slice(0, at);
    const fresh = body.slice(to + NEW.length);
    if (existingMemories === undefined || !isHistory(last)) continue;
    return {
      lastMessages: splitMessages(last.replace(/\n$/, '')),
      existingMemories,
      newMessages: splitMessages(dialect.endsLine ? fresh.replace(/\n$/, '') : fresh),
    };
  }
  return undefined;
}

/** Each earlier message ends its line; an empty history is an empty string. */
function isHistory(last: string): boolean {
  return last === '' || (last.endsWith('\n') && MESSAGE.test(last));
}

function readExisting(
  json: string,
  { spell }: Mem0Dialect,
): Mem0Prompt['existingMemories'] | undefined {
  if (json.includes('\n')) return undefined;
  const value = parseJson(json);
  const parsed = existingSchema.safeParse(value);
  if (!parsed.success || spell(parsed.data) !== json) return undefined;
  return parsed.data.every(({ id }, index) => id === String(index)) ? parsed.data : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** A message goes on until a line starts with a role; joined by newlines the parts are the text again. */
function splitMessages(text: string): string[] {
  return text === '' ? [] : text.split(NEXT_MESSAGE);
}
