/** Who may come in: a slot's unguessable path and its own bearer key, both checked, every refusal counted. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { sha256 } from '../lib/hash.ts';
import type { Refusal } from './contract.ts';
import type { GatewaySlot } from './slot.ts';

const RECENT = 100;

export interface Refused {
  readonly kind: 'refused';
  /** Never 408, 409, 429 or 5xx: provider SDKs multiply those by their own retries. */
  readonly status: 401 | 403 | 404;
  readonly reason: Refusal['reason'];
}
export type Admission = { readonly kind: 'admitted'; readonly slot: GatewaySlot } | Refused;

const REFUSAL_STATUS: Readonly<Record<Refusal['reason'], Refused['status']>> = {
  'unknown-slot': 404,
  'unknown-route': 404,
  'missing-key': 401,
  'wrong-key': 403,
  'closed-slot': 403,
};

export function unguessable(prefix: string): string {
  return `${prefix}${randomBytes(24).toString('base64url')}`;
}

/** Slots are looked up by the hash of their id, keys compared as hashes in constant time. */
export class Doors {
  readonly #open = new Map<string, { readonly slot: GatewaySlot; readonly keyHash: Buffer }>();
  readonly #closed = new Set<string>();
  readonly #recent: Refusal[] = [];
  #refused = 0;

  get refusals(): { readonly count: number; readonly recent: readonly Refusal[] } {
    return { count: this.#refused, recent: [...this.#recent] };
  }

  get slots(): readonly GatewaySlot[] {
    return [...this.#open.values()].map(({ slot }) => slot);
  }

  add(id: string, key: string, slot: GatewaySlot): void {
    this.#open.set(sha256(id), { slot, keyHash: digest(key) });
  }

  close(id: string): void {
    const hash = sha256(id);
    this.#open.delete(hash);
    this.#closed.add(hash);
  }

  admit(id: string, incoming: IncomingMessage): Admission {
    const hash = sha256(id);
    const door = this.#open.get(hash);
    if (door === undefined) {
      return this.refuse(this.#closed.has(hash) ? 'closed-slot' : 'unknown-slot', incoming);
    }
    const [, key] = /^Bearer +(\S+)$/i.exec(incoming.headers.authorization ?? '') ?? [];
    if (key === undefined) return this.refuse('missing-key', incoming);
    if (!timingSafeEqual(digest(key), door.keyHash)) return this.refuse('wrong-key', incoming);
    return { kind: 'admitted', slot: door.slot };
  }

  refuse(reason: Refusal['reason'], { method = '', url = '' }: IncomingMessage): Refused {
    const route = url
      .replace(/\?.*$/s, '')
      .replace(/^\/s\/[^/]*/, '/s/:slot')
      .slice(0, 200);
    this.#refused += 1;
    this.#recent.push({ reason, method, route });
    if (this.#recent.length > RECENT) this.#recent.shift();
    return { kind: 'refused', status: REFUSAL_STATUS[reason], reason };
  }
}

function digest(text: string): Buffer {
  return Buffer.from(sha256(text), 'hex');
}
