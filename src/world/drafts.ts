/** From a spec and drawn values to a fact: its texts, its question, its rubric. */
import type { Criterion } from '../core/exam.ts';
import { ENTITY_NOUNS } from './entity-facts.ts';
import { RELATIVE_PHRASES } from './relative-facts.ts';
import { type CriterionSpec, type FactSpec, fill } from './spec.ts';
import type { Entity, SessionContext } from './state.ts';
import type { FactTexts, FactTruth, Form, Telling } from './truth.ts';
import type { SlotValues, Value } from './values.ts';

/** A fact before its messages have ids. */
export interface FactDraft extends Omit<FactTruth, 'id' | 'messageIds' | 'scoredMessageId'> {
  readonly spec: FactSpec;
  readonly about: Entity | undefined;
  /** Messages of earlier sessions that it leans on. */
  readonly earlierMessageIds: readonly string[];
}

export type Slots = Readonly<Record<string, string>>;

/** What fills the spec's sentences. */
export function slotsOf(context: SessionContext, spec: FactSpec, values: SlotValues): Slots {
  return {
    ...mapValues(values, (value) => value.text),
    ...(spec.family === 'relative' && { r: context.rng.pick(RELATIVE_PHRASES), d: context.day }),
  };
}

export function entitySlots({ kind, name }: Entity): Slots {
  const p = name.text;
  return { p, e: fill(ENTITY_NOUNS[kind].named, { p }) };
}

interface DraftParts {
  readonly telling: Telling;
  readonly form: Form;
  readonly values: SlotValues;
  readonly slots: Slots;
  readonly about?: Entity | undefined;
  readonly needs?: readonly string[];
}

export function draftOf(spec: FactSpec, parts: DraftParts): FactDraft {
  const { telling, form, values, slots, about } = parts;
  return {
    spec,
    about,
    earlierMessageIds: [],
    attribute: spec.id,
    family: spec.family,
    category: spec.category,
    telling,
    form,
    speaker: spec.ask === undefined ? 'user' : 'assistant',
    ...(about && { entity: { kind: about.kind, name: about.name.core } }),
    values,
    valueKind: values.v === undefined ? 'anchor' : values.v.kind,
    texts: textsOf(spec, slots),
    needs: parts.needs === undefined ? [] : parts.needs,
    question: fill(spec.question, slots),
    rubric: spec.criteria.map((criterion) => criterionOf(criterion, { slots, values })),
    noun: fill(spec.noun, slots),
  };
}

/** The draft of a changed value; the question is about the change, and each half of it is worth a point. */
export function changeDraftOf(
  spec: FactSpec,
  parts: DraftParts & { readonly old: Value },
): FactDraft {
  const base = draftOf(spec, parts);
  const subject = fill(definedBy(spec, spec.subject), parts.slots);
  const { old } = parts;
  const value = parts.values.v;
  if (value === undefined) throw new Error(`the change of ${spec.id} has no value`);
  return {
    ...base,
    category: 'state-transition',
    values: { ...parts.values, o: old },
    texts: {
      ideal: `${subject} changed from ${old.text} to ${value.text}`,
      withoutOld: `${subject} is ${value.text}`,
      blurred: `${subject} changed`,
      described: `user told of a change: ${subject}`,
      unresolved: `${subject} is ${value.text}`,
    },
    question: `From what to what did ${base.noun} change?`,
    rubric: [
      {
        id: 'old',
        text: `says that ${base.noun} was ${old.text} before`,
        weight: 1,
        key: { all: [`from ${old.core}`], none: [] },
      },
      {
        id: 'new',
        text: `says that ${base.noun} is ${value.text} now`,
        weight: 1,
        key: { all: [value.core], none: [] },
      },
    ],
  };
}

/** How the user names the fact: "my manager", "the budget of project Muze". */
export function mineOf(spec: FactSpec, slots: Slots): string {
  return fill(definedBy(spec, spec.mine), slots);
}

export function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function definedBy(spec: FactSpec, text: string | undefined): string {
  if (text === undefined) throw new Error(`${spec.id} has no name to speak of it`);
  return text;
}

function textsOf(spec: FactSpec, slots: Slots): FactTexts {
  const { withoutSecondary, flipped, unresolved } = spec;
  return {
    ideal: fill(spec.ideal, slots),
    blurred: fill(spec.blurred, slots),
    described: fill(spec.described, slots),
    ...(withoutSecondary !== undefined && { withoutSecondary: fill(withoutSecondary, slots) }),
    ...(flipped !== undefined && { flipped: fill(flipped, slots) }),
    ...(unresolved !== undefined && { unresolved: fill(unresolved, slots) }),
  };
}

function criterionOf(
  spec: CriterionSpec,
  { slots, values }: { slots: Slots; values: SlotValues },
): Criterion {
  const cores = { ...slots, ...mapValues(values, (value) => value.core) };
  const phrases = (templates: readonly string[]) =>
    templates.map((template) => fill(template, cores));
  return {
    id: spec.id,
    text: fill(spec.text, slots),
    weight: spec.weight === undefined ? 1 : spec.weight,
    key: { all: phrases(spec.all), none: spec.none === undefined ? [] : phrases(spec.none) },
  };
}
