/** The LoCoMo benchmark as user streams: one conversation of two people is one user. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { AnnotatedItem, UserStream } from '../core/annotation.ts';
import type { Message, Session } from '../core/conversation.ts';
import { join, renderImage } from './content.ts';
import { HygieneLog, type HygieneReport, isBlank, note, wellFormed } from './hygiene.ts';
import { describeIssue, InputError } from './input-error.ts';
import { type CitedTurn, locomoItem, type UnresolvedQuestion } from './locomo-items.ts';
import {
  type LocomoConversation,
  type LocomoTurn,
  locomoFileSchema,
  locomoTurnSchema,
} from './locomo-schema.ts';
import { inTimeOrder } from './times.ts';

export interface LocomoSource {
  readonly streams: readonly UserStream[];
  /** Questions without a usable citation: in no exam, but in every denominator that is said to be LoCoMo's. */
  readonly unresolved: readonly UnresolvedQuestion[];
  readonly hygiene: HygieneReport;
}

/** Throws `InputError`. */
export async function readLocomo(file: string): Promise<LocomoSource> {
  const text = await readFile(file, 'utf8');
  try {
    return locomoStreams(JSON.parse(text), file);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new InputError(file, `is not JSON (${cause.message}).`, { cause });
  }
}

/** Pure. `where` names the file in errors and in the hygiene report. */
export function locomoStreams(value: unknown, where: string): LocomoSource {
  const parsed = locomoFileSchema.safeParse(value);
  if (!parsed.success) {
    throw new InputError(where, `is not a LoCoMo file: ${describeIssue(parsed.error)}`);
  }
  const log = new HygieneLog();
  const results = parsed.data.map((conversation) => {
    const place = `${where} ${conversation.sample_id}`;
    return streamOf(conversation, place, log);
  });
  return {
    streams: results.map(({ stream }) => stream),
    unresolved: results.flatMap(({ unresolved }) => unresolved),
    hygiene: log.report(),
  };
}

function streamOf(
  conversation: LocomoConversation,
  where: string,
  log: HygieneLog,
): { stream: UserStream; unresolved: UnresolvedQuestion[] } {
  const userId = conversation.sample_id;
  const sessions = sessionsOf(conversation, where, log);
  const turns = citedTurns(sessions, where);
  const items: AnnotatedItem[] = [];
  const unresolved: UnresolvedQuestion[] = [];
  for (const [index, qa] of conversation.qa.entries()) {
    const result = locomoItem(`${userId}/qa${index}`, qa, turns);
    if ('reason' in result) unresolved.push(result);
    else items.push(result);
  }
  return { stream: { userId, sessions, items }, unresolved };
}

/** Iterates the arrays of turns: one published conversation has dates of sixteen sessions that do not exist. */
function sessionsOf(
  { conversation, sample_id }: LocomoConversation,
  where: string,
  log: HygieneLog,
): Session[] {
  const numbers = Object.keys(conversation)
    .map((key) => /^session_(\d+)(_date_time)?$/.exec(key))
    .filter((match) => match !== null);
  const present = new Set(
    numbers.filter((match) => match[2] === undefined).map((match) => Number(match[1])),
  );
  for (const [key, number, isDate] of numbers) {
    if (isDate !== undefined && !present.has(Number(number))) {
      log.add(where, [note('date-without-session', key)]);
    }
  }
  const sessions = [...present].flatMap((number): Session[] => {
    const key = `session_${number}`;
    const place = `${where}.${key}`;
    const parsed = z.array(locomoTurnSchema).safeParse(conversation[key]);
    if (!parsed.success) throw new InputError(place, describeIssue(parsed.error));
    const messages = parsed.data.flatMap((turn) => messageOf(turn, place, log));
    if (messages.length === 0) {
      log.add(place, [note('session-without-messages')]);
      return [];
    }
    const at = parseLocomoTime(conversation[`${key}_date_time`], `${place}_date_time`);
    return [{ id: key, userId: sample_id, at, scene: 'chat', messages }];
  });
  return inTimeOrder(sessions);
}

/** Two people talk and neither is an assistant: both have role user and are told apart by `speaker`. */
function messageOf(turn: LocomoTurn, place: string, log: HygieneLog): Message[] {
  const hasImage = turn.img_url !== undefined || turn.blip_caption !== undefined;
  // `query` is the search that found the image; answers leak from it, so it is never shown.
  const image = hasImage ? [renderImage([turn.blip_caption])] : [];
  const body = join([{ text: turn.text, notes: [] }, ...image]);
  const { text, notes } = wellFormed(body.text);
  const where = `${place} ${turn.dia_id}`;
  log.add(where, [...body.notes, ...notes]);
  if (isBlank(text)) {
    log.add(where, [note('blank-message')]);
    return [];
  }
  return [{ id: turn.dia_id, role: 'user', speaker: wellFormed(turn.speaker).text, text }];
}

function citedTurns(sessions: readonly Session[], where: string): ReadonlyMap<string, CitedTurn> {
  const turns = new Map<string, CitedTurn>();
  for (const { id, speaker, text } of sessions.flatMap(({ messages }) => messages)) {
    if (turns.has(id)) throw new InputError(where, `dialog id ${id} occurs twice.`);
    turns.set(id, { text: `${speaker}: ${text}`, position: turns.size });
  }
  return turns;
}

const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
const LOCOMO_TIME = /^(\d{1,2}):(\d{2})\s*([ap]m)\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})$/i;

/** `1:56 pm on 8 May, 2023` → `2023-05-08T13:56:00Z`. The file gives no zone; UTC is our explicit choice. */
export function parseLocomoTime(value: unknown, where: string): string {
  const match = typeof value === 'string' ? LOCOMO_TIME.exec(value.trim()) : null;
  if (match === null) {
    const given = JSON.stringify(value);
    throw new InputError(where, `is ${given}; a time reads "1:56 pm on 8 May, 2023".`);
  }
  const [, hour = '', minute = '', half = '', day = '', month = '', year = ''] = match;
  const hours = (Number(hour) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
  const monthIndex = MONTHS.indexOf(month.toLowerCase());
  const date = new Date(Date.UTC(Number(year), monthIndex, Number(day), hours, Number(minute)));
  const exists =
    monthIndex >= 0 && date.getUTCDate() === Number(day) && date.getUTCMonth() === monthIndex;
  if (!exists || Number(hour) > 12 || Number(hour) < 1 || Number(minute) > 59) {
    throw new InputError(where, `is ${JSON.stringify(value)}, which is no real time.`);
  }
  return date.toISOString().replace('.000Z', 'Z');
}
