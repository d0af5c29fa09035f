/** The ways a fact is told: plainly, in a pair, by reference, wrongly and corrected, as a change, once more. */
import {
  changeDraftOf,
  draftOf,
  entitySlots,
  type FactDraft,
  mineOf,
  type Slots,
  slotsOf,
} from './drafts.ts';
import { ENTITY_NOUNS, entityIntros } from './entity-facts.ts';
import { FILLER } from './filler.ts';
import { type EntityKind, type FactSpec, fill, type ToolCall } from './spec.ts';
import {
  createEntity,
  draw,
  drawSlots,
  type Entity,
  type Known,
  pickForm,
  type SessionContext,
} from './state.ts';

export interface Beat {
  readonly user: string;
  readonly assistant: string;
  /** Called between the two. */
  readonly tool?: ToolCall & { readonly result: string };
}

/** One or two turns that belong together; the last one settles the facts. */
export interface Told {
  readonly beats: readonly Beat[];
  readonly facts: readonly FactDraft[];
}

const CHANGE = {
  bare: {
    told: [
      '{m} is {v} now',
      '{m} changed, it is {v}',
      'news: {m} is now {v}',
      'from today {m} is {v}',
    ],
    heldOut: ['scrap the old one, {m} became {v}'],
  },
  both: {
    told: [
      '{m} changed from {o} to {v}',
      '{m} went from {o} to {v}',
      '{m} was {o} and is now {v}',
      'no longer {o} but {v}, that is {m}',
    ],
    heldOut: ['{m} switched over from {o} to {v}'],
  },
};
const CORRECTION = {
  told: [
    'sorry, I meant {v}, not {o}',
    'no wait, {m} is {v}',
    'oops, wrong, it is {v}',
    'correction: {v} instead of {o}',
  ],
  heldOut: ['my mistake, make that {v}'],
};
const PAIR = {
  told: [
    '{m} is {v} and {m2} is {v2}',
    '{m} is {v}, also {m2} is {v2}',
    'two things: {m} is {v}, {m2} is {v2}',
  ],
  heldOut: ['{v} is {m} while {v2} is {m2}'],
};
const REPEAT = {
  told: ['as I said, {m} is {v}', 'you know, {m} is {v}', 'again, {m} is {v}'],
  heldOut: [],
};

/** Any spec in one of its own surface forms; the assistant's facts follow the user's request. */
export function tellPlainly(context: SessionContext, spec: FactSpec): Told {
  const { form, template } = pickForm(context, spec);
  const values = drawSlots(context, spec);
  const slots = slotsOf(context, spec, values);
  const beat = beatOf(context, spec, fill(template, slots));
  return { beats: [beat], facts: [draftOf(spec, { telling: 'plain', form, values, slots })] };
}

function beatOf(context: SessionContext, { ask, tool }: FactSpec, sentence: string): Beat {
  if (ask === undefined) return toAssistant(context, sentence);
  const user = context.rng.pick(ask);
  return tool === undefined
    ? { user, assistant: sentence }
    : { user, tool: { ...tool, result: sentence }, assistant: context.rng.pick(FILLER.done) };
}

/** A new project or trip, with a first fact about it. */
export function introduce(context: SessionContext, kind: EntityKind): Told {
  const about = createEntity(context, kind);
  return tellOfEntity(context, { spec: entityIntros[kind], about, refer: false });
}

export function tellOfEntity(
  context: SessionContext,
  { spec, about, refer }: { spec: FactSpec; about: Entity; refer: boolean },
): Told {
  const { form, template } = pickForm(context, spec);
  const values = drawSlots(context, spec);
  const slots = { ...slotsOf(context, spec, values), ...entitySlots(about) };
  about.lastSession = context.session;
  if (refer) context.referred.add(about.kind);
  const spoken = refer ? { ...slots, e: ENTITY_NOUNS[about.kind].referred } : slots;
  const fact = draftOf(spec, {
    telling: refer ? 'reference' : 'plain',
    form,
    values,
    slots,
    about,
    needs: refer ? [about.name.core] : [],
  });
  return { beats: [toAssistant(context, fill(template, spoken))], facts: [fact] };
}

/** Two facts in one sentence. Both specs can be named (`mine`). */
export function tellPair(
  context: SessionContext,
  [first, second]: readonly [FactSpec, FactSpec],
): Told {
  const { form, template } = pickForm(context, PAIR);
  const tell = (spec: FactSpec) => {
    const values = drawSlots(context, spec);
    const slots = slotsOf(context, spec, values);
    const draft = draftOf(spec, { telling: 'pair', form, values, slots });
    return { draft, mine: mineOf(spec, slots), value: fill('{v}', slots) };
  };
  const [a, b] = [tell(first), tell(second)];
  const sentence = fill(template, { m: a.mine, v: a.value, m2: b.mine, v2: b.value });
  return { beats: [toAssistant(context, sentence)], facts: [a.draft, b.draft] };
}

/** Told wrongly, then put right: only the right value counts, the wrong one contradicts. */
export function tellCorrected(context: SessionContext, spec: FactSpec): Told {
  const { form, template } = pickForm(context, CORRECTION);
  const wrong = drawSlots(context, spec);
  const values = drawSlots(context, spec);
  const wrongSlots = slotsOf(context, spec, wrong);
  const slots = slotsOf(context, spec, values);
  const draft = draftOf(spec, { telling: 'correction', form, values, slots });
  const none = Object.values(wrong).map((value) => value.core);
  const rubric = draft.rubric.map(({ key, ...criterion }) => ({
    ...criterion,
    ...(key && { key: { all: key.all, none } }),
  }));
  const amended = fill(template, {
    ...slots,
    m: mineOf(spec, slots),
    o: fill('{v}', wrongSlots),
  });
  return {
    beats: [
      toAssistant(context, fill(context.rng.pick(spec.told), wrongSlots)),
      toAssistant(context, amended),
    ],
    facts: [{ ...draft, rubric, texts: { ...draft.texts, flipped: fill(spec.ideal, wrongSlots) } }],
  };
}

/** A known value changes. Where the sentence leaves the old value out, it must come from an earlier chunk. */
export function tellChange(context: SessionContext, known: Known): Told {
  known.changed = true;
  const told = context.rng.chance(0.5) ? 'both' : 'bare';
  const { beats, facts } = change(context, { ...known, told });
  return {
    beats,
    facts: facts.map((fact) => ({
      ...fact,
      replaces: known.factId,
      earlierMessageIds: known.messageIds,
    })),
  };
}

/** A change of something that was never told before: the sentence holds both values. */
export function tellFreshChange(context: SessionContext, spec: FactSpec): Told {
  const { v } = drawSlots(context, spec);
  if (v === undefined) throw new Error(`${spec.id} has no value to change`);
  return change(context, { spec, value: v, entity: undefined, told: 'both' });
}

interface ChangeParts extends Pick<Known, 'spec' | 'value' | 'entity'> {
  readonly told: 'bare' | 'both';
}

function change(context: SessionContext, { spec, value: old, entity, told }: ChangeParts): Told {
  const { form, template } = pickForm(context, CHANGE[told]);
  const slot = spec.slots.v;
  if (slot === undefined) throw new Error(`${spec.id} has no value to change`);
  const values = { v: draw(context, slot) };
  const slots = { ...slotsOf(context, spec, values), ...aboutSlots(entity) };
  const fact = changeDraftOf(spec, {
    telling: 'change',
    form,
    values,
    slots,
    about: entity,
    old,
    needs: told === 'bare' ? [old.core] : [],
  });
  if (entity) entity.lastSession = context.session;
  const sentence = fill(template, { ...slots, m: mineOf(spec, slots), o: old.text });
  return { beats: [toAssistant(context, sentence)], facts: [fact] };
}

/** Something known, once more: with a hint that it is, or as if it were news. */
export function tellAgain(context: SessionContext, known: Known): Told {
  const { spec, entity } = known;
  const forms = context.rng.chance(0.5) ? REPEAT : spec;
  const { form, template } = pickForm(context, forms);
  const values = { v: known.value };
  const slots = { ...slotsOf(context, spec, values), ...aboutSlots(entity) };
  const fact = draftOf(spec, { telling: 'repeat', form, values, slots, about: entity });
  const sentence = fill(template, { ...slots, m: mineOf(spec, slots) });
  return {
    beats: [toAssistant(context, sentence)],
    facts: [{ ...fact, repeats: known.factId, earlierMessageIds: known.messageIds }],
  };
}

function aboutSlots(entity: Entity | undefined): Slots {
  return entity === undefined ? {} : entitySlots(entity);
}

function toAssistant({ rng }: SessionContext, user: string): Beat {
  return { user, assistant: rng.pick(FILLER.noted) };
}
