/** Why an item was failed: which of five places between conversation and grade lost the fact. */
import type { Listing, MemoryOp } from '../core/bank.ts';
import type { Key } from '../core/exam.ts';
import { matchKey, mentions } from './key-match.ts';
import { assertedText } from './no-record.ts';

export const failureCauses = [
  'never-written',
  'overwritten',
  'not-retrieved',
  'misread',
  'misjudged',
] as const;
export type FailureCause = (typeof failureCauses)[number];

export interface FailedItem {
  readonly key: Key;
  /** Everything any write asked of the bank, in order: tells overwritten from never written. */
  readonly ops: readonly MemoryOp[];
  readonly listing: Listing;
  readonly block: string;
  readonly answer: string;
}

/** The first hop, from the bank outwards, that no longer has the fact. The key's phrases may sit in several memories. */
export function failureCause({ key, ops, listing, block, answer }: FailedItem): FailureCause {
  const bank = listing.map(({ text }) => text).join('\n');
  if (!mentions(bank, key)) {
    return mentions(ops.map(textOf).join('\n'), key) ? 'overwritten' : 'never-written';
  }
  if (!mentions(block, key)) return 'not-retrieved';
  return matchKey(assertedText(answer), key) === 1 ? 'misjudged' : 'misread';
}

/** A failed trap turns the question round: was the content stored, or did a reader make it up? */
export type TrapFailureCause = 'stored' | 'invented';

export function trapFailureCause(trapped: Key, listing: Listing): TrapFailureCause {
  const bank = listing.map(({ text }) => text).join('\n');
  return mentions(bank, trapped) ? 'stored' : 'invented';
}

function textOf(op: MemoryOp): string {
  switch (op.kind) {
    case 'add':
      return op.text;
    case 'update':
      return `${op.before}\n${op.after}`;
    case 'remove':
      return op.before;
    default:
      throw new Error(`unknown operation ${op satisfies never}`);
  }
}
