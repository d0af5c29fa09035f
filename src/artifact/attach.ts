/** Attaches items that cite messages to the chunks and windows those messages ended up in (definitions §2). */
import type { AnnotatedItem, UserStream } from '../core/annotation.ts';
import type { Chunk, Window } from '../core/conversation.ts';
import type { GoldFact, Probe, Question, RecallProbe, WindowArtifact } from '../core/exam.ts';
import type { Rejection } from './rejection.ts';

type Annotated<K extends AnnotatedItem['kind']> = Extract<AnnotatedItem, { kind: K }>;

interface Placed {
  readonly chunk: Chunk;
  readonly window: Window;
}
type Places = ReadonlyMap<string, Placed>;

type Attached =
  | { readonly windowId: string; readonly probe: Probe }
  | { readonly windowId: string; readonly question: Question }
  | Rejection;

export interface Attachment {
  /** One for each window, in the windows' order, also where nothing is asked. */
  readonly artifacts: readonly WindowArtifact[];
  readonly unplaced: readonly Rejection[];
}

/**
 * Every item becomes a probe of a chunk, a question of a window, or a record of why not. Pure.
 * `windows` are all of the stream's. Throws on windows of another user and on ids that occur twice: those are bugs.
 */
export function attachItems(stream: UserStream, windows: readonly Window[]): Attachment {
  const stray = windows.find(({ userId }) => userId !== stream.userId);
  if (stray) throw new Error(`window ${stray.id} is not of user ${stream.userId}`);
  const places = placeMessages(windows);
  const attached = uniqueItems(stream.items).map((item) => attachItem(item, places));
  const artifacts = windows.map((window): WindowArtifact => {
    const mine = attached.filter((one) => 'windowId' in one && one.windowId === window.id);
    return {
      window,
      probes: mine.flatMap((one) => ('probe' in one ? [one.probe] : [])),
      questions: mine.flatMap((one) => ('question' in one ? [one.question] : [])),
    };
  });
  return { artifacts, unplaced: attached.filter((one) => 'reason' in one) };
}

function placeMessages(windows: readonly Window[]): Places {
  const places = new Map<string, Placed>();
  for (const window of windows) {
    for (const chunk of window.chunks) {
      for (const { id } of chunk.messages) {
        if (places.has(id)) throw new Error(`message id ${id} occurs twice in one user's stream`);
        places.set(id, { chunk, window });
      }
    }
  }
  return places;
}

function uniqueItems(items: readonly AnnotatedItem[]): readonly AnnotatedItem[] {
  const ids = new Set<string>();
  for (const { id } of items) {
    if (ids.has(id)) throw new Error(`item id ${id} occurs twice in one user's stream`);
    ids.add(id);
  }
  return items;
}

function attachItem(item: AnnotatedItem, places: Places): Attached {
  switch (item.kind) {
    case 'recall':
      return attachRecall(item, places);
    case 'trap':
      return attachTrap(item, places);
    case 'question':
      return attachQuestion(item, places);
    default:
      return item satisfies never;
  }
}

/** Evidence may lie in the scored chunk and before it; what is only said later cannot be asked of it. */
function attachRecall(item: Annotated<'recall'>, places: Places): Attached {
  const scored = places.get(item.scoredMessageId);
  if (scored === undefined) return unknownMessage(item, item.scoredMessageId);
  for (const messageId of item.messageIds) {
    const evidence = places.get(messageId);
    if (evidence === undefined) return unknownMessage(item, messageId);
    if (evidence.chunk.index > scored.chunk.index) {
      return reject(item, 'evidence-after-scored-chunk', messageId);
    }
  }
  const probe = recallProbe(item, item.category, scored.chunk);
  return { windowId: scored.window.id, probe };
}

function attachTrap(item: Annotated<'trap'>, places: Places): Attached {
  const scored = places.get(item.scoredMessageId);
  if (scored === undefined) return unknownMessage(item, item.scoredMessageId);
  const { id, question, reference, rubric, facets, trapped } = item;
  const probe: Probe = {
    kind: 'trap',
    ...{ id, question, reference, rubric, facets },
    ...(trapped === undefined ? {} : { trapped }),
    category: 'should-not-store',
    chunkId: scored.chunk.id,
    margin: 0,
  };
  return { windowId: scored.window.id, probe };
}

/**
 * Asked in the window of its latest evidence chunk. Evidence before that window stays needed but is not creditable:
 * it is cited, and no gold fact of this window has it as source.
 */
function attachQuestion(item: Annotated<'question'>, places: Places): Attached {
  const sourced: { readonly fact: GoldFact; readonly source: Placed }[] = [];
  for (const annotated of item.goldFacts) {
    const missing = annotated.messageIds.find((messageId) => !places.has(messageId));
    if (missing !== undefined) return unknownMessage(item, missing);
    const source = earliest(annotated.messageIds.flatMap((id) => places.get(id) ?? []));
    const { id, text, weight, key } = annotated;
    const fact = { id, chunkId: source.chunk.id, text, weight };
    sourced.push({ fact: key === undefined ? fact : { ...fact, key }, source });
  }
  const evidence = distinctChunks(sourced.map(({ source }) => source));
  const latest = evidence.at(-1);
  if (latest === undefined) return reject(item, 'no-evidence');
  if (evidence.length === 1) return attachAsRecall(item, latest);
  const { id, question, reference, rubric, facets } = item;
  const inside = sourced.filter(({ source }) => source.window.id === latest.window.id);
  return {
    windowId: latest.window.id,
    question: {
      kind: 'question',
      ...{ id, question, reference, rubric, facets },
      evidenceChunkIds: evidence.map(({ chunk }) => chunk.id),
      goldFacts: inside.map(({ fact }) => fact),
    },
  };
}

/** A question that one chunk answers is no cross-chunk question. */
function attachAsRecall(item: Annotated<'question'>, { chunk, window }: Placed): Attached {
  if (item.category === undefined) {
    return reject(item, 'one-chunk-question-without-category', chunk.id);
  }
  return { windowId: window.id, probe: recallProbe(item, item.category, chunk) };
}

function recallProbe(
  item: Annotated<'recall' | 'question'>,
  category: RecallProbe['category'],
  chunk: Chunk,
): RecallProbe {
  const { id, question, reference, rubric, facets } = item;
  return {
    kind: 'recall',
    ...{ id, question, reference, rubric, facets, category },
    chunkId: chunk.id,
    margin: 0,
  };
}

/** src(f): the earliest chunk that asserts the fact; a repeat earns nothing. */
function earliest(places: readonly Placed[]): Placed {
  return places.reduce((first, place) => (place.chunk.index < first.chunk.index ? place : first));
}

function distinctChunks(places: readonly Placed[]): Placed[] {
  const byChunk = new Map(places.map((place) => [place.chunk.id, place]));
  return [...byChunk.values()].sort((a, b) => a.chunk.index - b.chunk.index);
}

function unknownMessage(item: AnnotatedItem, messageId: string): Rejection {
  return reject(item, 'unknown-message', messageId);
}

function reject({ id, kind }: AnnotatedItem, reason: string, detail = ''): Rejection {
  return { itemId: id, kind, layer: 'placement', reason, detail };
}
