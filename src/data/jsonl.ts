/** Sessions from a JSONL file, one session a line, in the schema of docs/data.md. */
import { z } from 'zod';
import type { UserStream } from '../core/annotation.ts';
import { type Message, type Session, sceneSchema } from '../core/conversation.ts';
import { hashJson } from '../lib/hash.ts';
import { HygieneLog, type HygieneReport, isBlank, note, wellFormed } from './hygiene.ts';
import { describeIssue, InputError } from './input-error.ts';
import { type Line, readLines } from './lines.ts';
import { normaliseMessages, rawMessageSchema, timeOf } from './messages.ts';
import { inTimeOrder, timeProblem } from './times.ts';

const idSchema = z.union([z.string(), z.number()]).transform(String);
const sessionLineSchema = z.looseObject({
  id: idSchema.optional(),
  user: idSchema.refine((user) => !isBlank(user), 'must not be blank.'),
  at: z.unknown().optional(),
  scene: sceneSchema.optional(),
  messages: z.array(rawMessageSchema),
});
const READ_FIELDS = new Set(Object.keys(sessionLineSchema.shape));

export interface Source {
  readonly streams: readonly UserStream[];
  readonly hygiene: HygieneReport;
}

/** All users of a file, in order of first appearance, sessions in time order. Throws `InputError`. */
export async function readUserStreams(file: string): Promise<Source> {
  const log = new HygieneLog();
  const users = new Map<string, Session[]>();
  const seen = new Map<string, string>();
  for await (const { session, where } of readSessions(file, log)) {
    refuseRepeats(session, { where, seen });
    const sessions = users.get(session.userId);
    if (sessions === undefined) users.set(session.userId, [session]);
    else sessions.push(session);
  }
  const streams = [...users].map(([userId, sessions]) => ({
    userId,
    sessions: inTimeOrder(sessions),
    items: [],
  }));
  return { streams, hygiene: log.report() };
}

/** Streams the file: one session in memory at a time. A session left without messages is counted, not yielded. */
export async function* readSessions(
  file: string,
  log: HygieneLog,
): AsyncGenerator<{ session: Session; where: string }> {
  for await (const line of readLines(file)) {
    if (line.text.trim() === '') continue;
    const where = `${file}:${line.number}`;
    const session = parseSession(parseLine(line, where), { where, log });
    if (session.messages.length > 0) yield { session, where };
    else log.add(where, [note('session-without-messages', session.id)]);
  }
}

/** One parsed line to a session; `log` receives what hygiene found. Throws `InputError`. */
export function parseSession(
  value: unknown,
  { where, log }: { readonly where: string; readonly log: HygieneLog },
): Session {
  const parsed = sessionLineSchema.safeParse(value);
  if (!parsed.success) {
    throw new InputError(where, `${describeIssue(parsed.error)} See docs/data.md for the schema.`);
  }
  const line = parsed.data;
  const at = line.at ?? line.messages.map(timeOf).find((time) => time !== undefined);
  const problem = timeProblem(at);
  if (typeof at !== 'string' || problem !== undefined) {
    throw new InputError(where, `\`at\` ${problem ?? 'is not text.'}`);
  }
  const user = wellFormed(line.user);
  const id = wellFormed(line.id ?? `s-${hashJson([line.user, at, line.messages]).slice(0, 12)}`);
  const { messages, notes } = normaliseMessages(line.messages, { id: id.text, at });
  log.add(where, [...user.notes, ...id.notes, ...ignoredFields(line)]);
  for (const { message, ...found } of notes) log.add(`${where} messages[${message}]`, [found]);
  return {
    id: id.text,
    userId: user.text,
    at,
    scene: line.scene ?? sceneOf(messages),
    messages: [...messages],
  };
}

/** Where a line does not say: who used tools was at work. */
function sceneOf(messages: readonly Message[]): Session['scene'] {
  const usesTools = messages.some(
    ({ role, toolCalls }) => role === 'tool' || toolCalls !== undefined,
  );
  return usesTools ? 'working' : 'chat';
}

function ignoredFields(line: Record<string, unknown>) {
  return Object.keys(line)
    .filter((field) => !READ_FIELDS.has(field))
    .map((field) => note('ignored-field', field));
}

const NOT_AN_ARRAY = 'looks like one JSON array. Write one session a line, e.g. with jq -c ".[]".';

function parseLine({ text, number }: Line, where: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) throw new InputError(where, NOT_AN_ARRAY);
    return value;
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    const startsArray = number === 1 && text.trimStart().startsWith('[');
    const problem = startsArray
      ? NOT_AN_ARRAY
      : 'is not JSON. Every line must be one complete session object.';
    throw new InputError(where, problem, { cause });
  }
}

function refuseRepeats(
  { id, userId, messages }: Session,
  { where, seen }: { readonly where: string; readonly seen: Map<string, string> },
): void {
  const claim = (kind: string, name: string): void => {
    const key = JSON.stringify([userId, kind, name]);
    const before = seen.get(key);
    if (before !== undefined) {
      const advice = `Give each its own \`id\`, or remove one.`;
      throw new InputError(where, `${kind} "${name}" was already given at ${before}. ${advice}`);
    }
    seen.set(key, where);
  };
  claim('session', id);
  for (const message of messages) claim('message', message.id);
}
