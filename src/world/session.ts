/** Lays one session's tellings and chatter out as turns, and writes down what was true in it. */
import type { Message, Session } from '../core/conversation.ts';
import { renderToolCall, renderToolResult } from '../core/tool-traffic.ts';
import type { Rng } from '../lib/rng.ts';
import { type ChatterSpec, musings } from './chatter.ts';
import { mapValues } from './drafts.ts';
import { FILLER } from './filler.ts';
import { planSession } from './plan.ts';
import { fill } from './spec.ts';
import { drawSlots, type SessionContext, takeFrom } from './state.ts';
import type { Beat, Told } from './tellings.ts';
import type { ChatterTruth, FactTruth, SessionTruth } from './truth.ts';

/** Chatter before its message has an id. */
type ChatterDraft = Omit<ChatterTruth, 'messageId'>;
type Part = Told & { readonly chatter: readonly ChatterDraft[] };

export interface SessionFrame {
  readonly id: string;
  readonly userId: string;
  readonly at: string;
}

export function tellSession(
  context: SessionContext,
  frame: SessionFrame,
): { session: Session; truth: SessionTruth } {
  const { rng, state } = context;
  const told = planSession(context).map((part) => ({ ...part, chatter: [] }));
  const taken = told.reduce((sum, { beats }) => sum + beats.length, 0);
  const idle = Array.from({ length: state.options.turnsPerSession - taken }, () =>
    rng.chance(state.options.chatterShare) ? tempt(context) : fillTurn(rng),
  );
  const parts = interleave(told, idle, rng);
  const messages: Message[] = [];
  const facts: FactTruth[] = [];
  const chatter: ChatterTruth[] = [];
  for (const part of parts) {
    const turns = part.beats.map((beat) => addTurn(messages, beat, frame.id));
    const last = turns.at(-1);
    if (last === undefined) throw new Error('a part of a session has at least one turn');
    for (const draft of part.facts) {
      const { spec, about, earlierMessageIds, ...fact } = draft;
      const own = turns.map((turn) => sourceOf(turn, fact));
      const truth: FactTruth = {
        ...fact,
        id: `${frame.id}-f${facts.length}`,
        messageIds: [...earlierMessageIds, ...own],
        scoredMessageId: sourceOf(last, fact),
      };
      facts.push(truth);
      remember(context, { draft, truth, own });
    }
    chatter.push(...part.chatter.map((draft) => ({ ...draft, messageId: last[draft.speaker] })));
  }
  return {
    session: { ...frame, scene: state.scene, messages },
    truth: { sessionId: frame.id, facts, chatter },
  };
}

/** Told parts keep their planned order (an introduction comes before what leans on it); idle turns fall anywhere. */
function interleave(told: readonly Part[], idle: readonly Part[], rng: Rng): Part[] {
  const places = rng.shuffle([...told.map(() => true), ...idle.map(() => false)]);
  const queues = { told: [...told], idle: [...idle] };
  return places.map((isTold) => {
    const part = (isTold ? queues.told : queues.idle).shift();
    if (part === undefined) throw new Error('more places than parts');
    return part;
  });
}

/** Ids of a turn's messages. */
interface Turn {
  readonly user: string;
  readonly tool?: string;
  readonly assistant: string;
}

/** The message that states the fact. */
function sourceOf(turn: Turn, { family, speaker }: Pick<FactTruth, 'family' | 'speaker'>): string {
  return family === 'tool' && turn.tool !== undefined ? turn.tool : turn[speaker];
}

function addTurn(messages: Message[], beat: Beat, sessionId: string): Turn {
  const add = (message: Omit<Message, 'id'>): string => {
    const id = `${sessionId}-m${messages.length}`;
    messages.push({ id, ...message });
    return id;
  };
  const user = add({ role: 'user', text: beat.user });
  const tool = beat.tool && addToolCall(add, beat.tool, `${sessionId}-c${messages.length}`);
  const assistant = add({ role: 'assistant', text: beat.assistant });
  return { user, ...(tool !== undefined && { tool }), assistant };
}

/** A call and its result, in the shape that sessions from outside are brought into. */
function addToolCall(
  add: (message: Omit<Message, 'id'>) => string,
  { name, arguments: input, result }: NonNullable<Beat['tool']>,
  callId: string,
): string {
  const argumentsText = JSON.stringify(input);
  add({
    role: 'assistant',
    text: renderToolCall(name, argumentsText),
    spokenText: '',
    toolCalls: [{ id: callId, name, arguments: argumentsText }],
  });
  return add({
    role: 'tool',
    text: renderToolResult(name, result),
    spokenText: result,
    toolCallId: callId,
  });
}

function remember(
  { state, session }: SessionContext,
  { draft, truth, own }: { draft: Told['facts'][number]; truth: FactTruth; own: readonly string[] },
): void {
  const value = draft.values.v;
  if (value === undefined || draft.telling === 'repeat') return;
  state.known.push({
    spec: draft.spec,
    value,
    entity: draft.about,
    factId: truth.id,
    messageIds: own,
    session,
    changed: draft.telling === 'change',
  });
}

/** A turn that a careless writer would store; filler once all of them are told. */
function tempt(context: SessionContext): Part {
  const { rng, state } = context;
  const musing = takeFrom(context, rng.shuffle(musings));
  const spec = rng.chance(0.3) ? musing : (takeFrom(context, state.chatter) ?? musing);
  return spec === undefined ? fillTurn(rng) : chatterPart(context, spec);
}

function chatterPart(context: SessionContext, spec: ChatterSpec): Part {
  const { rng } = context;
  const slots = mapValues(drawSlots(context, spec), (value) => value.text);
  return {
    beats: [{ user: fill(rng.pick(spec.user), slots), assistant: rng.pick(spec.replies) }],
    facts: [],
    chatter: [
      {
        speaker: spec.tempting,
        stored: fill(spec.stored, slots),
        trap: {
          question: fill(spec.question, slots),
          trapped: spec.trapped.map((phrase) => fill(phrase, slots)),
        },
      },
    ],
  };
}

function fillTurn(rng: Rng): Part {
  const user = rng.pick(FILLER.user);
  return {
    beats: [{ user, assistant: rng.pick(FILLER.assistant) }],
    facts: [],
    chatter: [{ speaker: 'user', stored: `user said ${user}` }],
  };
}
