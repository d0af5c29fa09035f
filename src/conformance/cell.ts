/** One write in which one thing fails, or none: on a copy of the parent bank, told by the framework, its store and us. */
import { diffListings, type Listing } from '../core/bank.ts';
import type { ChatMessage } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import type { Stage } from '../core/stage.ts';
import { forkBank } from '../harness/fork.ts';
import { faultOr } from '../rollout/write-chunk.ts';
import type { UpstreamReply } from '../testing/scripted-upstream.ts';
import type { FaultCell } from './certificate.ts';
import { conclude, messageOf, SAID_CHARACTERS } from './conclude.ts';
import { type EmbeddingFailure, startEmbeddingRelay } from './embedding-relay.ts';
import { type Lab, nearTexts, type OpenBank, type Reply, textsOf } from './lab.ts';

/** Undefined where a stage has no such answer. */
export type Injection = (
  stage: Stage,
  messages: readonly ChatMessage[],
  sound: string,
) => UpstreamReply | undefined;

export interface CellPlan {
  readonly reply: Reply;
  /** Both absent in a control. */
  readonly injection?: { readonly stage: Stage; readonly inject: Injection };
  readonly embedding?: EmbeddingFailure;
}

export type Cell = Omit<FaultCell, 'stage' | 'injected'> & {
  /** Texts afterwards; undefined where the listing failed. */
  readonly after: readonly string[] | undefined;
  /** All that the bank holds and finds afterwards, as one text; undefined where it was not concluded ok. */
  readonly state: string | undefined;
  /** Names of the stages that asked. */
  readonly asked: ReadonlySet<string>;
  /** Embedding requests of the write. */
  readonly embeddings: number;
};

export const CELL_MEMORIES = 4;

export async function runCell(lab: Lab, parent: string, plan: CellPlan): Promise<Cell> {
  const dir = lab.newDirectory();
  await forkBank(parent, dir);
  await using relay = await startEmbeddingRelay();
  await using open = await lab.open(dir, (slot) => ({
    embeddings: relay.before(slot.embeddings),
  }));
  const met = scriptCell(open, plan);
  const before = await open.bank.list();
  const chunk = lab.chunk(nearTexts(CELL_MEMORIES), { index: 1 });
  relay.fail(plan.embedding);
  const { frameworkSaid, concluded } = await conclude(lab, open, { chunk, before });
  const embeddings = relay.requests;
  relay.fail();
  const after = await listingOf(open);
  const reached = plan.embedding === undefined || embeddings >= plan.embedding.from;
  return {
    frameworkSaid,
    storeShows: after === undefined ? 'cannot be listed' : differenceText(before, after),
    concluded: reached ? met.word(concluded) : 'not reached',
    after: after && textsOf(after),
    state: concluded === 'ok' ? await stateOf(open) : undefined,
    asked: met.asked,
    embeddings,
  };
}

/** A question whose embedding fails, on a copy of the parent bank: a block that lacks what it asks for is no answer. */
export async function runReading(
  lab: Lab,
  parent: string,
  failure: EmbeddingFailure,
): Promise<Pick<Cell, 'frameworkSaid' | 'storeShows' | 'concluded'> & { readonly whole: boolean }> {
  const dir = lab.newDirectory();
  await forkBank(parent, dir);
  await using relay = await startEmbeddingRelay();
  await using open = await lab.open(dir, (slot) => ({
    embeddings: relay.before(slot.embeddings),
  }));
  const { bank, slot } = open;
  const before = await bank.list();
  slot.setPurpose('retrieve');
  const [question = ''] = nearTexts(CELL_MEMORIES);
  relay.fail(failure);
  const found = await faultOr(() => bank.retrieve(question));
  const reached = relay.requests > 0;
  relay.fail();
  const failed = found instanceof FaultError;
  const concluded = failed ? `fault: ${found.boundary}` : 'ok';
  const after = await listingOf(open);
  return {
    frameworkSaid: failed ? messageOf(found).slice(0, SAID_CHARACTERS) : 'resolved',
    storeShows: after === undefined ? 'cannot be listed' : differenceText(before, after),
    concluded: reached ? concluded : 'not reached',
    whole: !failed && found === (await bank.retrieve(question)),
  };
}

/** A text that was stored without its vector is listed, and found no more. */
async function stateOf({ bank, slot }: OpenBank): Promise<string> {
  slot.setPurpose('retrieve');
  const found: string[][] = [];
  for (const question of nearTexts(CELL_MEMORIES)) {
    found.push((await bank.retrieve(question)).split('\n').sort());
  }
  return JSON.stringify([textsOf(await bank.list()), await bank.contentHash(), found]);
}

/** Sets the bank's script, and tells what of the plan came to pass. */
function scriptCell(open: OpenBank, { reply, injection }: CellPlan) {
  const asked = new Set<string>();
  const met = new Set<'reached' | 'no such answer'>();
  open.script = (stage, messages) => {
    asked.add(stage.name);
    const sound = reply(stage, messages);
    if (injection?.stage.name !== stage.name || sound.kind !== 'text') return sound;
    const injected = injection.inject(stage, messages, sound.text);
    met.add(injected === undefined ? 'no such answer' : 'reached');
    return injected ?? sound;
  };
  const word = (concluded: string): string =>
    injection === undefined || met.has('reached') ? concluded : ([...met][0] ?? 'not reached');
  return { asked, word };
}

async function listingOf({ bank }: OpenBank): Promise<Listing | undefined> {
  try {
    return await bank.list();
  } catch (cause) {
    if (cause instanceof FaultError) return undefined;
    throw cause;
  }
}

function differenceText(before: Listing, after: Listing): string {
  const kinds = diffListings(before, after).map(({ kind }) => kind);
  const count = (kind: string): number => kinds.filter((one) => one === kind).length;
  const parts = (['add', 'update', 'remove'] as const)
    .filter((kind) => count(kind) > 0)
    .map((kind) => `${count(kind)} ${kind}`);
  return parts.length === 0 ? 'unchanged' : parts.join(', ');
}
