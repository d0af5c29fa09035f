/** Did the bank change as the writer asked? Two listings answer, never the framework's word (definitions §5). */
import type { Listing } from '../core/bank.ts';
import type { RequestedOperation, WriteEffect, WriteRequest } from '../core/stage.ts';
import type { SideEffect } from '../harness/contract.ts';

export interface Discrepancy {
  /** Texts that should be in the bank and are not. */
  readonly missing: readonly string[];
  /** Texts that are in the bank and should not be. */
  readonly unrequested: readonly string[];
}

/** How often a text may be in the bank afterwards. */
interface Range {
  least: number;
  most: number;
}

/**
 * Applies the requests in order to the earlier listing and compares. The one side effect allowed to every framework is
 * deduplication: a text asked for twice, or one that is there already, may be stored once. Others are what the harness
 * declares and its bank reports.
 */
export function compareWrite(
  listings: { readonly before: Listing; readonly after: Listing },
  { requests, optional }: WriteEffect,
  sideEffects: readonly SideEffect[] = [],
): Discrepancy {
  const expected = new Map<string, Range>();
  for (const { text } of listings.before) add(expected, text, 'always');
  for (const request of requests) {
    for (const operation of request.operations) {
      apply(expected, operation, (id) => textBehind(id, request, listings.before));
    }
  }
  for (const text of optional) add(expected, text, 'optional');
  for (const { removed, added } of sideEffects) {
    for (const text of removed) remove(expected, text);
    for (const text of added) add(expected, text, 'always');
  }
  const found = countTexts(listings.after);
  const texts = [...new Set([...expected.keys(), ...found.keys()])];
  const countOf = (text: string): number => found.get(text) ?? 0;
  return {
    missing: texts.filter((text) => countOf(text) < rangeOf(expected, text).least),
    unrequested: texts.filter((text) => countOf(text) > rangeOf(expected, text).most),
  };
}

function apply(
  expected: Map<string, Range>,
  operation: RequestedOperation,
  textOf: (id: string) => string,
): void {
  switch (operation.kind) {
    case 'none':
      return;
    case 'add':
      add(expected, operation.text, 'deduplicated');
      return;
    case 'update':
      remove(expected, textOf(operation.id));
      add(expected, operation.text, 'deduplicated');
      return;
    case 'remove':
      remove(expected, textOf(operation.id));
      return;
    default:
      throw new Error(`unknown operation ${operation satisfies never}`);
  }
}

/** A framework that offers its own ids may show a long text cut; the listing has it whole. */
function textBehind(id: string, { offered }: WriteRequest, before: Listing): string {
  const memory =
    before.find((candidate) => candidate.id === id) ??
    offered.find((candidate) => candidate.id === id);
  if (memory === undefined) throw new Error(`a well-formed answer names id ${id}, never offered`);
  return memory.text;
}

function add(
  expected: Map<string, Range>,
  text: string,
  mode: 'always' | 'deduplicated' | 'optional',
): void {
  const { least, most } = rangeOf(expected, normalise(text));
  const leasts = { always: least + 1, deduplicated: Math.max(least, 1), optional: least };
  expected.set(normalise(text), { least: leasts[mode], most: most + 1 });
}

function remove(expected: Map<string, Range>, text: string): void {
  const { least, most } = rangeOf(expected, normalise(text));
  expected.set(normalise(text), { least: Math.max(0, least - 1), most: Math.max(0, most - 1) });
}

function rangeOf(expected: ReadonlyMap<string, Range>, text: string): Range {
  return expected.get(text) ?? { least: 0, most: 0 };
}

function countTexts(listing: Listing): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { text } of listing) {
    const key = normalise(text);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Frameworks trim and fold white space; nothing else may change. */
function normalise(text: string): string {
  return text.normalize('NFC').replace(/\s+/gu, ' ').trim();
}
