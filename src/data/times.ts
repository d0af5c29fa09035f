/** Instants with their zone: what a session's `at` must be, and how two of them compare. */
import { z } from 'zod';
import type { Session } from '../core/conversation.ts';

const timeSchema = z.iso.datetime({ offset: true });

/** The problem with a time, as the predicate of a sentence; undefined when it is a real time with an explicit offset. */
export function timeProblem(value: unknown): string | undefined {
  if (timeSchema.safeParse(value).success) return undefined;
  if (typeof value === 'number') {
    return `is the number ${value}, whose zone nobody knows. Write ISO 8601 with an offset, e.g. 2024-05-08T20:15:00+02:00.`;
  }
  if (typeof value !== 'string') {
    return 'is missing. Write when it happened, ISO 8601 with an offset, e.g. 2024-05-08T20:15:00+02:00.';
  }
  if (timeSchema.safeParse(`${value}Z`).success) {
    return `is "${value}", which has no zone. Append its offset, e.g. ${value}+02:00, or Z for UTC.`;
  }
  return `is "${value}", which is not an ISO 8601 time with an offset, e.g. 2024-05-08T20:15:00+02:00.`;
}

/** Milliseconds since the epoch. Throws on a naive time: its instant would depend on this machine's zone. */
export function instantOf(at: string): number {
  const problem = timeProblem(at);
  if (problem !== undefined) throw new Error(`time ${problem}`);
  return Date.parse(at);
}

/** By instant, not by text: 23:00-05:00 is later than 23:30+01:00. Equal instants keep their order. */
export function inTimeOrder(sessions: readonly Session[]): Session[] {
  return sessions
    .map((session) => ({ session, instant: instantOf(session.at) }))
    .sort((a, b) => a.instant - b.instant)
    .map(({ session }) => session);
}

/** The calendar day of an instant as seen in the zone of another time, e.g. `2024-05-08`. */
export function dayInZoneOf(at: string, zoneOf: string): string {
  const offset = /([+-])(\d\d):?(\d\d)$/.exec(zoneOf);
  const minutes = offset === null ? 0 : Number(offset[2]) * 60 + Number(offset[3]);
  const signed = offset?.[1] === '-' ? -minutes : minutes;
  return new Date(instantOf(at) + signed * 60_000).toISOString().slice(0, 10);
}
