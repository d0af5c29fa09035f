/** Every stage of a write meets every failure: what the framework says, what its store holds, and what we conclude. */
import { diffListings, type Listing } from '../core/bank.ts';
import type { ChatMessage } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import type { Stage } from '../core/stage.ts';
import { forkBank } from '../harness/fork.ts';
import { writeChunk } from '../rollout/write-chunk.ts';
import type { UpstreamReply } from '../testing/scripted-upstream.ts';
import type { FaultCell, ObligationResult } from './certificate.ts';
import { distinctTexts, type Lab, nearTexts, type OpenBank, storing, textsOf } from './lab.ts';

type Injection = (
  stage: Stage,
  messages: readonly ChatMessage[],
  sound: string,
) => UpstreamReply | undefined;

const text = (content: string): UpstreamReply => ({ kind: 'text', text: content });
const status =
  (code: number): Injection =>
  () => ({ kind: 'status', status: code });

/** Undefined where a stage has no such answer. */
const INJECTIONS: Readonly<Record<string, Injection>> = {
  'bad text': () => text('I could not do that, sorry.'),
  empty: () => text(''),
  truncated: (_stage, _messages, sound) => ({
    kind: 'text',
    text: sound.slice(0, Math.floor(0.6 * sound.length)),
    finishReason: 'length',
  }),
  'wrong schema': () => text('{"unexpected": 1}'),
  'unknown id': (stage, messages) => misnamed(stage, messages, 'unknown-id'),
  'duplicate id': (stage, messages) => misnamed(stage, messages, 'duplicate-id'),
  'HTTP 400': status(400),
  'HTTP 429': status(429),
  'HTTP 500': status(500),
  'cut connection': () => ({ kind: 'cut' }),
  'time-out': () => ({ kind: 'hang' }),
};

function misnamed(
  stage: Stage,
  messages: readonly ChatMessage[],
  kind: 'unknown-id' | 'duplicate-id',
): UpstreamReply | undefined {
  const answer = stage.misname?.(kind, messages);
  return answer === undefined ? undefined : text(answer);
}

const MEMORIES = 4;

export interface FaultReport {
  readonly cells: readonly FaultCell[];
  readonly obligation: ObligationResult;
}

/** `onCell` is told after each. */
export async function injectFaults(lab: Lab, onCell: () => void): Promise<FaultReport> {
  const parent = await parentBank(lab);
  const control = await runCell(lab, parent, undefined);
  const cells: FaultCell[] = [];
  const lost: string[] = [];
  for (const stage of lab.harness.stages) {
    for (const [injected, inject] of Object.entries(INJECTIONS)) {
      const cell = await runCell(lab, parent, { stage, inject });
      const { after, ...said } = cell;
      cells.push({ stage: stage.name, injected, ...said });
      const whole = JSON.stringify(after) === JSON.stringify(control.after);
      if (said.concluded === 'ok' && !whole) lost.push(`${stage.name}, ${injected}`);
      onCell();
    }
  }
  const obligation: ObligationResult =
    lost.length > 0 || control.concluded !== 'ok'
      ? {
          name: 'no silent loss',
          status: 'violated',
          detail:
            control.concluded === 'ok'
              ? `concluded ok though something was lost: ${lost.join('; ')}`
              : `a sound write was concluded ${control.concluded}: ${control.frameworkSaid}`,
        }
      : {
          name: 'no silent loss',
          status: 'held',
          detail: `no cell of ${cells.length} was concluded ok while something was lost`,
        };
  return { cells, obligation };
}

export function faultCellCount(lab: Lab): number {
  return lab.harness.stages.length * Object.keys(INJECTIONS).length;
}

/** Holds memories that the next write's are near to, so that stages which merge are reached. */
async function parentBank(lab: Lab): Promise<string> {
  await using open = await lab.open();
  await lab.write(open, distinctTexts(MEMORIES));
  await open.bank.close();
  return open.dir;
}

type Cell = Omit<FaultCell, 'stage' | 'injected'> & {
  /** Texts afterwards; undefined where the listing failed. */
  readonly after: readonly string[] | undefined;
};

/** Without an injection: the control, a write in which nothing goes wrong. */
async function runCell(
  lab: Lab,
  parent: string,
  injection: { readonly stage: Stage; readonly inject: Injection } | undefined,
): Promise<Cell> {
  const dir = lab.newDirectory();
  await forkBank(parent, dir);
  await using open = await lab.open(dir);
  const texts = nearTexts(MEMORIES);
  const sound = storing(texts);
  const met = new Set<'reached' | 'no such answer'>();
  open.script = (stage, messages) => {
    const reply = sound(stage, messages);
    if (injection?.stage.name !== stage.name || reply.kind !== 'text') return reply;
    const injected = injection.inject(stage, messages, reply.text);
    met.add(injected === undefined ? 'no such answer' : 'reached');
    return injected ?? reply;
  };
  const before = await open.bank.list();
  const { frameworkSaid, concluded } = await conclude(lab, open, before);
  const after = await listingOf(open);
  return {
    frameworkSaid,
    storeShows: after === undefined ? 'cannot be listed' : differenceText(before, after),
    concluded:
      injection === undefined || met.has('reached') ? concluded : ([...met][0] ?? 'not reached'),
    after: after && textsOf(after),
  };
}

async function conclude(
  lab: Lab,
  { bank, slot }: OpenBank,
  before: Listing,
): Promise<Pick<Cell, 'frameworkSaid' | 'concluded'>> {
  let frameworkSaid = 'resolved';
  const watched = {
    list: () => bank.list(),
    retrieve: (question: string) => bank.retrieve(question),
    contentHash: () => bank.contentHash(),
    close: () => bank.close(),
    [Symbol.asyncDispose]: () => bank[Symbol.asyncDispose](),
    write: async (chunk: Parameters<typeof bank.write>[0]) => {
      try {
        return await bank.write(chunk);
      } catch (cause) {
        frameworkSaid = cause instanceof Error ? cause.message.slice(0, 160) : String(cause);
        throw cause;
      }
    },
  };
  const countTokens = (one: string): number => one.length;
  const chunk = lab.chunk(nearTexts(MEMORIES), { index: 1 });
  try {
    const parts = { harness: lab.harness, slot, bank: watched, countTokens };
    const { write } = await writeChunk(parts, chunk, before);
    const { outcome } = write;
    return {
      frameworkSaid,
      concluded: outcome.kind === 'ok' ? 'ok' : `policy-error: ${outcome.reasons.join(', ')}`,
    };
  } catch (cause) {
    if (!(cause instanceof FaultError)) throw cause;
    return { frameworkSaid, concluded: `fault: ${cause.boundary}` };
  }
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
