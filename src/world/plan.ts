/** What one session tells: draws tellings until it has its number of facts. */

import { UserError } from '../lib/user-error.ts';
import { entityIntros } from './entity-facts.ts';
import { FILLER } from './filler.ts';
import type { EntityKind, FactSpec, Family } from './spec.ts';
import { canRefer, canTell, type Known, type SessionContext, takeFrom } from './state.ts';
import {
  introduce,
  type Told,
  tellAgain,
  tellChange,
  tellCorrected,
  tellFreshChange,
  tellOfEntity,
  tellPair,
  tellPlainly,
} from './tellings.ts';
import { IDLE_TOOL_TURNS, type ToolScene } from './tool-facts.ts';

type Attempt = (context: SessionContext) => Told | undefined;

/** Families of facts told in their own forms, with how often each is drawn. */
const WEIGHTS: readonly (readonly [Exclude<Family, 'assistant' | 'tool'>, number])[] = [
  ['plain', 0.38],
  ['entity', 0.16],
  ['exact', 0.16],
  ['detail', 0.13],
  ['content', 0.11],
  ['relative', 0.06],
];
const ENTITY_KINDS: readonly EntityKind[] = ['project', 'trip'];

/** Tellings in the order in which they were planned; the turns they take fit the session. */
export function planSession(context: SessionContext): Told[] {
  const { rng, state } = context;
  const { factsPerChunk, turnsPerSession, repeatShare } = state.options;
  const plan: Told[] = [];
  // Without a tool turn it would be a chat.
  const tool = state.scene === 'chat' ? undefined : tellThroughTool(context, state.scene);
  let facts = tool === undefined ? 0 : tool.facts.length;
  let turns = tool === undefined ? 0 : tool.beats.length;
  const goal = Math.min(
    rng.int(factsPerChunk.min, factsPerChunk.max),
    facts + turnsPerSession - turns,
  );
  while (facts < goal) {
    const told = tellNext(context, { facts: goal - facts, turns: turnsPerSession - turns });
    plan.push(told);
    facts += told.facts.length;
    turns += told.beats.length;
  }
  if (turns < turnsPerSession && rng.chance(repeatShare)) {
    const again = repeatable(context);
    if (again !== undefined) plan.push(tellAgain(context, again));
  }
  if (tool !== undefined) plan.splice(rng.int(0, plan.length), 0, tool);
  return plan;
}

/** A fact that only a tool's result states; once all of them are told, a call that finds out nothing. */
function tellThroughTool(context: SessionContext, scene: ToolScene): Told {
  const fact = tryFamily(context, 'tool');
  if (fact !== undefined) return fact;
  const { ask: user, ...call } = context.rng.pick(IDLE_TOOL_TURNS[scene]);
  const [result, assistant] = [context.rng.pick(FILLER.done), context.rng.pick(FILLER.assistant)];
  return { beats: [{ user, tool: { ...call, result }, assistant }], facts: [] };
}

/** What is still free: facts to tell, turns to tell them in. At least one turn per fact is left. */
interface Room {
  readonly facts: number;
  readonly turns: number;
}

function tellNext(context: SessionContext, room: Room): Told {
  const { options } = context.state;
  const { scene } = context.state;
  const attempts: readonly (readonly [number, Attempt])[] = [
    [scene === 'chat' ? 0 : options.toolFactShare, (c) => tryFamily(c, 'tool')],
    [options.transitionShare, tryChange],
    [options.referenceShare, tryReference],
    [options.assistantFactShare, (c) => tryFamily(c, 'assistant')],
    // A pair tells two facts at once: half as many pairs make the share of facts.
    [room.facts >= 2 ? options.twoFactShare / 2 : 0, tryPair],
    [room.turns > room.facts ? options.correctionShare : 0, tryCorrection],
  ];
  let point = context.rng.next();
  for (const [share, attempt] of attempts) {
    point -= share;
    if (point >= 0) continue;
    const told = attempt(context);
    if (told !== undefined) return told;
    break;
  }
  return tellOrdinary(context);
}

function tellOrdinary(context: SessionContext): Told {
  let point = context.rng.next();
  const wanted = WEIGHTS.find(([, weight]) => {
    point -= weight;
    return point < 0;
  });
  const families = [...(wanted ? [wanted] : []), ...WEIGHTS].map(([family]) => family);
  for (const family of families) {
    const told = family === 'entity' ? tryEntity(context) : tryFamily(context, family);
    if (told !== undefined) return told;
  }
  throw new UserError('the world has nothing left to tell this user: ask for fewer sessions');
}

function tryFamily(context: SessionContext, family: Exclude<Family, 'entity'>): Told | undefined {
  const spec = takeFrom(context, context.state.pools[family]);
  return spec === undefined ? undefined : tellPlainly(context, spec);
}

/** A further fact about the current project or trip, or a new one where all is told. */
function tryEntity(context: SessionContext): Told | undefined {
  for (const kind of context.rng.shuffle(ENTITY_KINDS)) {
    const about = context.state.entities.get(kind);
    const spec = about?.left.pop();
    if (about && spec) return tellOfEntity(context, { spec, about, refer: false });
    if (!context.referred.has(kind) && canTell(context, entityIntros[kind])) {
      return introduce(context, kind);
    }
  }
  return undefined;
}

function tryReference(context: SessionContext): Told | undefined {
  const about = context.rng
    .shuffle([...context.state.entities.values()])
    .find((entity) => canRefer(context, entity) && entity.left.length > 0);
  const spec = about?.left.pop();
  return about && spec ? tellOfEntity(context, { spec, about, refer: true }) : undefined;
}

function tryPair(context: SessionContext): Told | undefined {
  const { plain } = context.state.pools;
  const where = ({ slots }: FactSpec) => typeof slots.v === 'string';
  const first = takeFrom(context, plain, { where });
  const second = takeFrom(context, plain, { where });
  if (first && second) return tellPair(context, [first, second]);
  return first && tellPlainly(context, first);
}

function tryCorrection(context: SessionContext): Told | undefined {
  const spec = takeFrom(context, context.state.pools.plain, { times: 2 });
  return spec === undefined ? undefined : tellCorrected(context, spec);
}

function tryChange(context: SessionContext): Told | undefined {
  const { state, rng, session } = context;
  const candidates = current(context).filter(
    ({ spec, changed, session: told }) =>
      spec.changes === true && !changed && told < session && canTell(context, spec),
  );
  if (candidates.length > 0 && rng.chance(0.85)) return tellChange(context, rng.pick(candidates));
  if (!rng.chance(0.3)) return undefined;
  const where = (spec: FactSpec) => spec.changes === true;
  const spec = takeFrom(context, state.pools.plain, { times: 2, where });
  return spec === undefined ? undefined : tellFreshChange(context, spec);
}

function repeatable(context: SessionContext): Known | undefined {
  const candidates = current(context).filter(
    ({ changed, session }) => !changed && session < context.session,
  );
  return candidates.length === 0 ? undefined : context.rng.pick(candidates);
}

/** What may be spoken of again: named attributes, and of the entities only the present ones. */
function current({ state }: SessionContext): Known[] {
  return state.known.filter(
    ({ spec, entity }) =>
      spec.mine !== undefined &&
      (entity === undefined || state.entities.get(entity.kind) === entity),
  );
}
