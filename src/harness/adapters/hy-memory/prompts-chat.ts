/** Reads the two requests of Hy-Memory 2.0.6's chat scene back, which it words in English or Chinese. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import { sha256 } from '../../../lib/hash.ts';
import { parseJson } from '../../json-answer.ts';
import { cutOneOf, type Slot, type Template } from '../../template.ts';

/** English, Chinese. */
const EXTRACT_SYSTEM_SHA256 = [
  '2e362cbeb2d2ed5cb71a830979b645c56460e95afe00ad3238bf986c0d631936',
  'fc8de8505c744091fcdc24a2cfd7a4e6f62a1332c18fa39d191a7f39aa0a7f4a',
];

const RULE = '\n\n---\n\n';

interface ExtractHeadings {
  readonly last: string;
  readonly fresh: string;
  readonly output: string;
}

function extractSlots({ last, fresh, output }: ExtractHeadings): readonly Slot[] {
  return [
    { after: last, before: `${RULE}${fresh}[`, end: 'last' },
    { after: `${RULE}${fresh}`, before: `${RULE}## Memory Date\n\n`, end: 'last' },
    { after: `${RULE}## Memory Date\n\n`, before: `${RULE}## Current Date\n\n`, end: 'last' },
    { after: `${RULE}## Current Date\n\n`, before: `${RULE}${output}`, end: 'last' },
  ];
}

const EXTRACT: readonly Template[] = [
  {
    slots: extractSlots({
      last: '## Last k Messages\n\n',
      fresh: '## New Messages\n\n',
      output: '# Output Format\n\n',
    }),
    sha256: '8ddcc01a52c60abbde9a47f8f751a8c0b7ac61032f868e72831a7394b20014d2',
  },
  {
    slots: extractSlots({
      last: '## 最近 k 条消息\n\n',
      fresh: '## 新消息\n\n',
      output: '\n# 输出格式\n\n',
    }),
    sha256: 'eec8a988dbc23cd5614f18638f237ff11935da8534783d5409b60e5729e55cdf',
  },
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
  if (!EXTRACT_SYSTEM_SHA256.includes(sha256(system.content))) return undefined;
  const parts = cutOneOf(user.content, EXTRACT);
  if (parts === undefined) return undefined;
  const [last = '', json = '', memoryDate = '', currentDate = ''] = parts;
  const parsed = newMessagesSchema.safeParse(parseJson(json));
  if (!parsed.success) return undefined;
  const newMessages = parsed.data.map(({ role, name, content }) =>
    name === undefined ? `${role}: ${content}` : `${role} ${name}: ${content}`,
  );
  return { last: last === '(none)' ? '' : last, newMessages, memoryDate, currentDate };
}

interface ReconcileHeadings {
  readonly date: string;
  readonly existing: string;
  readonly drafts: string;
  readonly output: string;
}

function reconcileSlots(headings: ReconcileHeadings): readonly Slot[] {
  const { date, existing, drafts, output } = headings;
  return [
    { after: `\n\n${date}`, before: `\n\n${existing}`, end: 'first' },
    { after: existing, before: `\n\n${drafts}`, end: 'first' },
    { after: drafts, before: output, end: 'last' },
  ];
}

const RECONCILE: readonly Template[] = [
  {
    slots: reconcileSlots({
      date: 'Current date: ',
      existing: '## Existing memories\n\n',
      drafts: '## New memories\n\n',
      output: `${RULE}# Output\n\n`,
    }),
    sha256: '481e4cd3ab77b0b2c8176cdec491bf8a842b8402e7e2b5afb8b921170f0df5a2',
  },
  {
    slots: reconcileSlots({
      date: '当前日期：',
      existing: '## 已有记忆（Existing memories）\n\n',
      drafts: '## 新记忆（New Memories）\n\n',
      output: '\n\n# 输出格式\n\n',
    }),
    sha256: '33bfc46d0847dff771cee0cb145bb22e4e5b0733156a748e4d1c4393f1387b24',
  },
];

/** The framework stores what an answer said, null and all, and shows it again; what it lacks is left out. */
const anyText = z.unknown().optional().transform(textOf);
const memorySchema = z.looseObject({
  content: anyText,
  owner: anyText,
  memory_at: anyText,
  tags: z
    .unknown()
    .optional()
    .transform((tags) => (Array.isArray(tags) ? tags.map(textOf) : [textOf(tags)])),
});
export const existingSchema = z.array(memorySchema.extend({ memory_id: z.string() }));
const draftsSchema = z.array(memorySchema);

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}

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
  const [now = '', existing = '', drafts = ''] = cutOneOf(text, RECONCILE) ?? [];
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
