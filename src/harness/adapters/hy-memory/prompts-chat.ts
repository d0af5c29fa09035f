/** Reads the two requests of Hy-Memory 2.0.6's chat scene back into their variable parts. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import { sha256 } from '../../../lib/hash.ts';
import { parseJson } from '../../json-answer.ts';
import { cutTemplate, type Slot } from '../../template.ts';

const EXTRACT_SYSTEM_SHA256 = '2e362cbeb2d2ed5cb71a830979b645c56460e95afe00ad3238bf986c0d631936';
const EXTRACT_SHA256 = '8ddcc01a52c60abbde9a47f8f751a8c0b7ac61032f868e72831a7394b20014d2';
const RECONCILE_SHA256 = '481e4cd3ab77b0b2c8176cdec491bf8a842b8402e7e2b5afb8b921170f0df5a2';

const RULE = '\n\n---\n\n';
const EXTRACT_SLOTS: readonly Slot[] = [
  { after: '## Last k Messages\n\n', before: `${RULE}## New Messages\n\n[`, end: 'last' },
  { after: `${RULE}## New Messages\n\n`, before: `${RULE}## Memory Date\n\n`, end: 'last' },
  { after: `${RULE}## Memory Date\n\n`, before: `${RULE}## Current Date\n\n`, end: 'last' },
  { after: `${RULE}## Current Date\n\n`, before: `${RULE}# Output Format\n\n`, end: 'last' },
];

export interface ChatExtractPrompt {
  /** Rendered text of earlier messages, `[role]: text`; empty where there were none. */
  readonly last: string;
  readonly newMessages: readonly string[];
  /** YYYY-MM-DD: the conversation's day, and today. */
  readonly memoryDate: string;
  readonly currentDate: string;
}

const newMessagesSchema = z.array(
  z.looseObject({ role: z.string(), name: z.string().optional(), content: z.string() }),
);

export function readChatExtract(messages: readonly ChatMessage[]): ChatExtractPrompt | undefined {
  const [system, user] = messages;
  if (messages.length !== 2 || system?.role !== 'system' || user?.role !== 'user') return undefined;
  if (sha256(system.content) !== EXTRACT_SYSTEM_SHA256) return undefined;
  const parts = cutTemplate(user.content, EXTRACT_SLOTS, [EXTRACT_SHA256]);
  if (parts === undefined) return undefined;
  const [last = '', json = '', memoryDate = '', currentDate = ''] = parts;
  const parsed = newMessagesSchema.safeParse(parseJson(json));
  if (!parsed.success) return undefined;
  const newMessages = parsed.data.map(({ role, name, content }) =>
    name === undefined ? `${role}: ${content}` : `${role} ${name}: ${content}`,
  );
  return { last: last === '(none)' ? '' : last, newMessages, memoryDate, currentDate };
}

const RECONCILE_SLOTS: readonly Slot[] = [
  { after: '\n\nCurrent date: ', before: '\n\n## Existing memories\n\n', end: 'first' },
  { after: '## Existing memories\n\n', before: '\n\n## New memories\n\n', end: 'first' },
  { after: '## New memories\n\n', before: `${RULE}# Output\n\n`, end: 'last' },
];

const memorySchema = z.looseObject({
  content: z.string(),
  owner: z.string().nullable(),
  memory_at: z.string().nullable(),
  tags: z.array(z.string()).nullable(),
});
const existingSchema = z.array(memorySchema.extend({ memory_id: z.string() }));
const draftsSchema = z.array(memorySchema);
type RowOf<S extends z.ZodType> = z.infer<S> extends readonly (infer R)[] ? R : never;

export interface ChatReconcilePrompt {
  /** YYYY-MM-DD HH:MM */
  readonly now: string;
  readonly existing: readonly RowOf<typeof existingSchema>[];
  readonly drafts: readonly RowOf<typeof draftsSchema>[];
}

/** Both lists are JSON, which has no line break inside of a string: no memory can forge a heading. */
export function readChatReconcile(
  messages: readonly ChatMessage[],
): ChatReconcilePrompt | undefined {
  const text = soleUserText(messages);
  if (text === undefined) return undefined;
  const [now = '', existing = '', drafts = ''] =
    cutTemplate(text, RECONCILE_SLOTS, [RECONCILE_SHA256]) ?? [];
  const offered = existingSchema.safeParse(parseJson(existing));
  const fresh = draftsSchema.safeParse(parseJson(drafts));
  if (!offered.success || !fresh.success) return undefined;
  return { now, existing: offered.data, drafts: fresh.data };
}

/** Every stage but the chat extraction sends an empty system message. */
export function soleUserText(messages: readonly ChatMessage[]): string | undefined {
  const [system, user] = messages;
  const sole = messages.length === 2 && system?.role === 'system' && user?.role === 'user';
  return sole && system.content === '' ? user.content : undefined;
}
