/** What really happened in a user's stream, and what each kind of writer would make of it. */
import type { AnnotatedItem, UserStream } from '../core/annotation.ts';
import type { Category, Criterion } from '../core/exam.ts';
import type { EntityKind, Family } from './spec.ts';
import type { SlotValues, ValueKind } from './values.ts';

/** How a fact reached the conversation. */
export type Telling = 'plain' | 'pair' | 'reference' | 'correction' | 'change' | 'repeat';
export type Form = 'seen' | 'held-out';

/** One memory text per kind of writer; a missing one means that this way of going wrong does not apply. */
export interface FactTexts {
  /** Complete, 5-9 words. */
  readonly ideal: string;
  /** Matches the question and lacks the value. */
  readonly blurred: string;
  /** Says that something was told, not what. */
  readonly described: string;
  /** Without side remark, list tail or anchor date. */
  readonly withoutSecondary?: string;
  /** A change without what was before. */
  readonly withoutOld?: string;
  /** Negation or scope turned round; for a correction, the value that was taken back. */
  readonly flipped?: string;
  /** All that can be said by a bank which lacks what `needs` names. */
  readonly unresolved?: string;
}

export interface FactTruth {
  /** Unique in the world: `${sessionId}-f${n}`. */
  readonly id: string;
  readonly attribute: string;
  readonly family: Family;
  readonly category: Category;
  readonly telling: Telling;
  readonly form: Form;
  readonly speaker: 'user' | 'assistant';
  readonly entity?: { readonly kind: EntityKind; readonly name: string };
  /** By slot name: `v` the main value, `w` and `x` further ones, `o` the old one. */
  readonly values: SlotValues;
  readonly valueKind: ValueKind | 'anchor';
  /** All messages that assert it, for a change those of the old value too. */
  readonly messageIds: readonly string[];
  /** The message whose chunk is scored. */
  readonly scoredMessageId: string;
  readonly texts: FactTexts;
  /** Phrases of the ideal text that the chunk itself does not hold: they come from earlier chunks. */
  readonly needs: readonly string[];
  /** Id of the fact told before with the same value. Earns nothing; storing it again only costs. */
  readonly repeats?: string;
  /** Id of the earlier fact whose value this one replaces. */
  readonly replaces?: string;
  readonly question: string;
  readonly rubric: readonly Criterion[];
  readonly noun: string;
}

export interface ChatterTruth {
  readonly messageId: string;
  readonly speaker: 'user' | 'assistant';
  /** As a careless writer would store it. */
  readonly stored: string;
  /** Absent for filler: nobody asks about "good morning". */
  readonly trap?: { readonly question: string; readonly trapped: readonly string[] };
}

export interface SessionTruth {
  readonly sessionId: string;
  /** In the order in which they were told. */
  readonly facts: readonly FactTruth[];
  readonly chatter: readonly ChatterTruth[];
}

export interface WorldUser extends UserStream {
  readonly items: readonly AnnotatedItem[];
  /** One entry per session. */
  readonly truth: readonly SessionTruth[];
}
