/** A session's foreign messages, normalised: roles, speakers, tool traffic and order made explicit. */
import { z } from 'zod';
import type { Message } from '../core/conversation.ts';
import { renderToolCall, renderToolResult } from '../core/tool-traffic.ts';
import { argumentsText, join, type Rendered, renderContent } from './content.ts';
import { type HygieneNote, isBlank, note, wellFormed } from './hygiene.ts';
import { dayInZoneOf, instantOf, timeProblem } from './times.ts';

const idSchema = z.union([z.string(), z.number()]).transform(String);
const callSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.unknown().optional(),
  function: z.looseObject({ name: z.string(), arguments: z.unknown() }).optional(),
});
const timeField = z
  .unknown()
  .optional()
  .check((context) => {
    if (context.value === undefined || context.value === null) return;
    const message = timeProblem(context.value);
    if (message !== undefined)
      context.issues.push({ code: 'custom', message, input: context.value });
  });

/** OpenAI-style, loose: fields we do not read are counted as `ignored-field`. */
export const rawMessageSchema = z.looseObject({
  id: idSchema.optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.unknown().optional(),
  name: z.string().nullish(),
  at: timeField,
  timestamp: timeField,
  tool_calls: z.array(callSchema).nullish(),
  function_call: callSchema.nullish(),
  tool_call_id: z.string().nullish(),
  refusal: z.string().nullish(),
});
export type RawMessage = z.infer<typeof rawMessageSchema>;

const READ_FIELDS = new Set(Object.keys(rawMessageSchema.shape));

export interface PlacedNote extends HygieneNote {
  /** Position in the session's message list as it was given. */
  readonly message: number;
}

export interface NormalMessages {
  /** Blank messages are gone; ids count positions before that, so that dropping one moves no other's id. */
  readonly messages: readonly Message[];
  readonly notes: readonly PlacedNote[];
}

/** Pure. `sessionAt` is the time whose calendar day relative dates resolve against. */
export function normaliseMessages(
  raw: readonly RawMessage[],
  session: { readonly id: string; readonly at: string },
): NormalMessages {
  const { ordered, moved } = orderByTime(raw);
  const tools = toolNames(raw);
  const notes: PlacedNote[] = moved.map((at) => ({ ...note('messages-reordered'), message: at }));
  const messages = ordered.flatMap(({ message, position }): Message[] => {
    const rendered = renderMessageText(message, tools);
    const text = wellFormed(rendered.text);
    const speaker = speakerOf(message);
    const found = [...rendered.notes, ...text.notes, ...speaker.notes, ...fieldNotes(message)];
    found.push(...dayNotes(message, session.at));
    const dropped = isBlank(text.text);
    if (dropped) found.push(note(isNothing(message.content) ? 'null-content' : 'blank-message'));
    notes.push(...found.map((one) => ({ ...one, message: position })));
    if (dropped) return [];
    const id = wellFormed(message.id ?? `${session.id}:${position}`).text;
    const said = { role: roleOf(message), ...speaker.field, text: text.text };
    return [{ id, ...said, ...toolTraffic(message, id) }];
  });
  return { messages, notes };
}

/** When the message was sent, where it says so. */
export function timeOf(message: RawMessage): string | undefined {
  const at = message.at ?? message.timestamp;
  return typeof at === 'string' ? at : undefined;
}

function isNothing(content: unknown): boolean {
  return content === null || content === undefined;
}

/** Sorted by instant where every message has one, else as given. */
function orderByTime(raw: readonly RawMessage[]) {
  const placed = raw.map((message, position) => {
    const at = timeOf(message);
    return { message, position, instant: at === undefined ? undefined : instantOf(at) };
  });
  if (placed.some(({ instant }) => instant === undefined)) return { ordered: placed, moved: [] };
  const ordered = [...placed].sort((a, b) => Number(a.instant) - Number(b.instant));
  const moved = ordered.flatMap(({ position }, now) => (position === now ? [] : [position]));
  return { ordered, moved };
}

function callsOf(message: RawMessage): z.infer<typeof callSchema>[] {
  return [...(message.tool_calls ?? []), ...(message.function_call ? [message.function_call] : [])];
}

function callName(call: z.infer<typeof callSchema>): string {
  return call.function?.name ?? call.name ?? '?';
}

function toolNames(raw: readonly RawMessage[]): ReadonlyMap<string, string> {
  return new Map(
    raw
      .flatMap(callsOf)
      .flatMap((call) => (call.id === undefined ? [] : [[call.id, callName(call)] as const])),
  );
}

/** As it was, for frameworks that take tool turns; `text` has it rendered. A call without an id is named by its place. */
function toolTraffic(
  message: RawMessage,
  id: string,
): Pick<Message, 'toolCalls' | 'toolCallId' | 'spokenText'> {
  const calls = callsOf(message);
  const answers = message.tool_call_id ? { toolCallId: message.tool_call_id } : {};
  if (calls.length === 0 && roleOf(message) !== 'tool') return answers;
  return {
    ...answers,
    spokenText: wellFormed(spokenPart(message).text).text,
    ...(calls.length > 0 && {
      toolCalls: calls.map((call, place) => ({
        id: call.id || `${id}#${place}`,
        name: callName(call),
        arguments: wellFormed(argumentsText(call.function?.arguments ?? call.arguments)).text,
      })),
    }),
  };
}

function spokenPart(message: RawMessage): Rendered {
  const refusal: Rendered[] = message.refusal ? [{ text: message.refusal, notes: [] }] : [];
  return join([renderContent(message.content), ...refusal]);
}

function renderMessageText(message: RawMessage, tools: ReadonlyMap<string, string>): Rendered {
  const calls = callsOf(message).map((call): Rendered => {
    const text = renderToolCall(
      callName(call),
      argumentsText(call.function?.arguments ?? call.arguments),
    );
    return { text, notes: [note('tool-call', text)] };
  });
  const body = join([spokenPart(message), ...calls]);
  if (roleOf(message) !== 'tool' || isBlank(body.text)) return body;
  const known = message.tool_call_id ? tools.get(message.tool_call_id) : undefined;
  const name = known ?? (message.name || undefined);
  const orphan = message.tool_call_id && known === undefined;
  return {
    text: renderToolResult(name, body.text),
    notes: [
      note('tool-result', body.text),
      ...(orphan ? [note('orphan-tool-result', String(message.tool_call_id))] : []),
      ...body.notes,
    ],
  };
}

function roleOf({ role }: RawMessage): Message['role'] {
  switch (role) {
    case 'developer':
      return 'system';
    case 'function':
      return 'tool';
    default:
      return role;
  }
}

function speakerOf(message: RawMessage): {
  field: { speaker?: string };
  notes: readonly HygieneNote[];
} {
  if (!message.name || isBlank(message.name) || roleOf(message) === 'tool') {
    return { field: {}, notes: [] };
  }
  const { text, notes } = wellFormed(message.name.trim());
  return { field: { speaker: text }, notes };
}

function fieldNotes(message: RawMessage): HygieneNote[] {
  const role = message.role === 'developer' ? [note('developer-role')] : [];
  const ignored = Object.entries(message)
    .filter(([field, value]) => !READ_FIELDS.has(field) && !isNothing(value))
    .map(([field]) => note('ignored-field', field));
  return [...role, ...ignored];
}

/** A chunk carries its session's date: a message of another day would have its "yesterday" resolved wrongly. */
function dayNotes(message: RawMessage, sessionAt: string): HygieneNote[] {
  const at = timeOf(message);
  if (at === undefined) return [];
  const day = dayInZoneOf(at, sessionAt);
  return day === dayInZoneOf(sessionAt, sessionAt) ? [] : [note('message-on-another-day', at)];
}
