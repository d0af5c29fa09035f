/** What the generator remembers of one user between sessions. */

import type { Scene } from '../core/conversation.ts';
import type { Rng } from '../lib/rng.ts';
import { assistantFacts } from './assistant-facts.ts';
import { type ChatterSpec, chatterSpecs } from './chatter.ts';
import { contentFacts } from './content-facts.ts';
import { detailFacts } from './detail-facts.ts';
import { entityFacts } from './entity-facts.ts';
import { exactFacts } from './exact-facts.ts';
import type { WorldOptions } from './options.ts';
import { plainFacts } from './plain-facts.ts';
import { relativeFacts } from './relative-facts.ts';
import type { EntityKind, FactSpec, Family } from './spec.ts';
import { toolFacts } from './tool-facts.ts';
import type { Form } from './truth.ts';
import { canDrawAll, drawValue, type Slot, type SlotValues, type Value } from './values.ts';

export interface Entity {
  readonly kind: EntityKind;
  readonly name: Value;
  /** Facts about it that have not been told yet. */
  readonly left: FactSpec[];
  lastSession: number;
}

/** A fact as the generator knows it, so that later sessions can change or repeat it. */
export interface Known {
  readonly spec: FactSpec;
  readonly value: Value;
  readonly entity: Entity | undefined;
  readonly factId: string;
  readonly messageIds: readonly string[];
  readonly session: number;
  changed: boolean;
}

/** What needs values: facts and chatter. */
type Tellable = { readonly slots: FactSpec['slots'] };

export interface UserState {
  readonly options: WorldOptions;
  /** Of all of the user's sessions. */
  readonly scene: Scene;
  /** Values in use, so that no two facts of a user share one. */
  readonly taken: Set<string>;
  readonly pools: Readonly<Record<Exclude<Family, 'entity'>, FactSpec[]>>;
  readonly chatter: ChatterSpec[];
  readonly known: Known[];
  /** The current one of each kind: what "that project" means. */
  readonly entities: Map<EntityKind, Entity>;
  /** How many of each kind there have been. */
  readonly entityCounts: Map<EntityKind, number>;
}

export function createUserState(options: WorldOptions, scene: Scene, rng: Rng): UserState {
  return {
    options,
    scene,
    taken: new Set(),
    pools: {
      plain: rng.shuffle(plainFacts),
      exact: rng.shuffle(exactFacts),
      detail: rng.shuffle(detailFacts),
      content: rng.shuffle(contentFacts),
      relative: rng.shuffle(relativeFacts),
      assistant: rng.shuffle(assistantFacts),
      tool: scene === 'chat' ? [] : rng.shuffle(toolFacts[scene]),
    },
    chatter: rng.shuffle(chatterSpecs),
    known: [],
    entities: new Map(),
    entityCounts: new Map(),
  };
}

/** One session's view of it: its own randomness and its day. */
export interface SessionContext {
  readonly state: UserState;
  readonly rng: Rng;
  readonly session: number;
  /** `2024-05-08` */
  readonly day: string;
  /** Kinds that this session introduced, or spoke of as "that …": never both. */
  readonly introduced: Set<EntityKind>;
  readonly referred: Set<EntityKind>;
}

export function draw({ state, rng }: SessionContext, slot: Slot): Value {
  return drawValue(slot, rng, { split: state.options.split, taken: state.taken });
}

/** Whether the closed lists still hold words for this spec, told `times` over. */
export function canTell({ state }: SessionContext, spec: Tellable, times = 1): boolean {
  const slots = Object.values(spec.slots);
  return canDrawAll(slots, { split: state.options.split, taken: state.taken, times });
}

/** Takes the next spec of the pool that can be told and meets the condition. */
export function takeFrom<T extends Tellable>(
  context: SessionContext,
  pool: T[],
  { times = 1, where = () => true }: { times?: number; where?: (spec: T) => boolean } = {},
): T | undefined {
  const index = pool.findLastIndex((spec) => where(spec) && canTell(context, spec, times));
  return index === -1 ? undefined : pool.splice(index, 1)[0];
}

export function drawSlots(context: SessionContext, spec: Tellable): SlotValues {
  return Object.fromEntries(
    Object.entries(spec.slots).map(([name, slot]) => [name, draw(context, slot)]),
  );
}

export function pickForm(
  { state, rng }: SessionContext,
  { told, heldOut }: { told: readonly string[]; heldOut: readonly string[] },
): { form: Form; template: string } {
  const isHeldOut = state.options.heldOutForms && heldOut.length > 0 && rng.chance(0.5);
  return isHeldOut
    ? { form: 'held-out', template: rng.pick(heldOut) }
    : { form: 'seen', template: rng.pick(told) };
}

export function createEntity(context: SessionContext, kind: EntityKind): Entity {
  const { state, rng, session } = context;
  const entity: Entity = {
    kind,
    name: draw(context, 'name'),
    left: rng.shuffle(entityFacts[kind]),
    lastSession: session,
  };
  state.entities.set(kind, entity);
  state.entityCounts.set(kind, countOf(state, kind) + 1);
  context.introduced.add(kind);
  return entity;
}

function countOf(state: UserState, kind: EntityKind): number {
  const count = state.entityCounts.get(kind);
  return count === undefined ? 0 : count;
}

/** "that project" is plain when there was only one, or when the last session spoke of it. */
export function canRefer({ state, session, introduced }: SessionContext, entity: Entity): boolean {
  if (introduced.has(entity.kind)) return false;
  return countOf(state, entity.kind) === 1 || entity.lastSession === session - 1;
}
