/** What the world can tell: one spec per attribute, with its surface forms and everything a writer might make of it. */
import type { Category } from '../core/exam.ts';
import type { Slot } from './values.ts';

export type Family =
  | 'plain'
  | 'exact'
  | 'detail'
  | 'content'
  | 'relative'
  | 'assistant'
  | 'tool'
  | 'entity';

export interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, string | number | boolean>>;
}

/** A rubric criterion with slots in its phrases (`{v}`). */
export interface CriterionSpec {
  readonly id: string;
  readonly text: string;
  readonly weight?: number;
  readonly all: readonly string[];
  readonly none?: readonly string[];
}

/**
 * Templates name slots in braces: `{v}` the main value, `{w}` and `{x}` further ones, `{e}` the entity or "that
 * project", `{p}` the entity's name, `{o}` the old value, `{d}` the session's day.
 */
export interface FactSpec {
  readonly id: string;
  readonly family: Family;
  readonly category: Category;
  readonly slots: { readonly v?: Slot; readonly w?: Slot; readonly x?: Slot };
  /** What is said; after the user's `ask` by the assistant, or by the tool that it calls. */
  readonly told: readonly string[];
  /** Surface forms that training never shows. */
  readonly heldOut: readonly string[];
  readonly ask?: readonly string[];
  readonly tool?: ToolCall;
  /** The memory a perfect writer stores. */
  readonly ideal: string;
  /** Matches the question and lacks the value. */
  readonly blurred: string;
  /** Says that something was told, not what. */
  readonly described: string;
  /** Main fact without its side remark, list without its tail, event without the day it was told on. */
  readonly withoutSecondary?: string;
  /** What is left where an earlier chunk is needed and the bank lacks it. */
  readonly unresolved?: string;
  /** Negation or scope turned round. */
  readonly flipped?: string;
  readonly question: string;
  readonly criteria: readonly CriterionSpec[];
  /** "the manager": names the fact inside a cross-chunk question. */
  readonly noun: string;
  /** How the user names it ("my manager"): allows generic sentences, corrections and pairs. */
  readonly mine?: string;
  /** How a memory names it ("user's manager"). */
  readonly subject?: string;
  /** Whether its value may change later. */
  readonly changes?: boolean;
  /** Entity facts: what kind of thing they are about. */
  readonly entity?: EntityKind;
}

export type EntityKind = 'project' | 'trip';

export function fill(template: string, slots: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = slots[name];
    if (value === undefined) throw new Error(`no value for {${name}} in "${template}"`);
    return value;
  });
}
