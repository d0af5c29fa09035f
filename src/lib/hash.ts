/** Content identity: one hash over canonical JSON, so that key order never matters. */
import { createHash } from 'node:crypto';

export function sha256(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}

/** sha256 of the value's JSON with keys sorted at every level. */
export function hashJson(value: unknown): string {
  return sha256(JSON.stringify(value, sortKeys));
}

/** Hash of a multiset: the order of its members does not matter, their number does. */
export function hashMultiset(members: readonly unknown[]): string {
  return hashJson(members.map(hashJson).sort());
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
