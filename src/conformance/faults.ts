/** Every stage of a write meets every failure: what the framework says, what its store holds, and what we conclude. */
import { diffListings, type Listing } from '../core/bank.ts';
import type { ChatMessage } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import type { Stage } from '../core/stage.ts';
import { forkBank } from '../harness/fork.ts';
import type { UpstreamReply } from '../testing/scripted-upstream.ts';
import type { FaultCell, ObligationResult } from './certificate.ts';
import { conclude, messageOf } from './conclude.ts';
import { type JudgedCell, judgeCells } from './judge-cells.ts';
import {
  distinctTexts,
  type Lab,
  nearTexts,
  type OpenBank,
  provoking,
  type Reply,
  storing,
  textsOf,
} from './lab.ts';

type Injection = (
  stage: Stage,
  messages: readonly ChatMessage[],
  sound: string,
) => UpstreamReply | undefined;

const text = (content: string): UpstreamReply => ({ kind: 'text', text: content });
const status =
  (code: number): Injection =>
  () => ({ kind: 'status', status: code });

type Injections = Readonly<Record<string, Injection>>;

/** Undefined where a stage has no such answer. */
const BAD_ANSWERS: Injections = {
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
};

const PROVIDER_FAILURES: Injections = {
  'HTTP 400': status(400),
  'HTTP 429': status(429),
  'HTTP 500': status(500),
  'cut connection': () => ({ kind: 'cut' }),
  'time-out': () => ({ kind: 'hang' }),
};

const INJECTIONS = [
  ...Object.entries(BAD_ANSWERS).map((entry) => ['answer', ...entry] as const),
  ...Object.entries(PROVIDER_FAILURES).map((entry) => ['provider', ...entry] as const),
];

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
  readonly obligations: readonly ObligationResult[];
}

interface Control {
  /** Answers of a write in which nothing goes wrong. */
  readonly reply: Reply;
  readonly cell: Cell;
}

/** `onCell` is told after each. */
export async function injectFaults(lab: Lab, onCell: () => void): Promise<FaultReport> {
  let started: { readonly parent: string; readonly controls: readonly Control[] };
  try {
    started = await runControls(lab);
  } catch (cause) {
    return { cells: [], obligations: judgeCells(lab, [], `no sound write: ${messageOf(cause)}`) };
  }
  const { parent, controls } = started;
  const broken = controls.find(({ cell }) => cell.concluded !== 'ok')?.cell;
  const judged: JudgedCell[] = [];
  for (const stage of lab.harness.stages) {
    const { reply, cell: control } = controlOf(controls, stage);
    for (const [failing, injected, inject] of INJECTIONS) {
      const cell = await runCell(lab, parent, { reply, injection: { stage, inject } });
      const { after, asked: _asked, ...said } = cell;
      const whole = JSON.stringify(after) === JSON.stringify(control.after);
      judged.push({ cell: { stage: stage.name, injected, ...said }, failing, whole });
      onCell();
    }
  }
  const trouble =
    broken && `a sound write was concluded ${broken.concluded}: ${broken.frameworkSaid}`;
  return {
    cells: judged.map(({ cell }) => cell),
    obligations: judgeCells(lab, judged, trouble),
  };
}

/** The normal path, and the way past it where that does not reach every stage. */
async function runControls(lab: Lab) {
  const parent = await parentBank(lab);
  const texts = nearTexts(MEMORIES);
  const controls: Control[] = [];
  for (const reply of [storing(texts), provoking(texts)]) {
    controls.push({ reply, cell: await runCell(lab, parent, { reply }) });
    const reached = new Set(controls.flatMap(({ cell }) => [...cell.asked]));
    if (lab.harness.stages.every(({ name }) => reached.has(name))) break;
  }
  return { parent, controls };
}

function controlOf(controls: readonly Control[], { name }: Stage): Control {
  const [first] = controls;
  if (first === undefined) throw new Error('there is no control');
  return controls.find(({ cell }) => cell.asked.has(name)) ?? first;
}

export function faultCellCount(lab: Lab): number {
  return lab.harness.stages.length * INJECTIONS.length;
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
  /** Names of the stages that asked. */
  readonly asked: ReadonlySet<string>;
};

interface CellPlan {
  readonly reply: Reply;
  /** Absent in a control. */
  readonly injection?: { readonly stage: Stage; readonly inject: Injection };
}

async function runCell(lab: Lab, parent: string, { reply, injection }: CellPlan): Promise<Cell> {
  const dir = lab.newDirectory();
  await forkBank(parent, dir);
  await using open = await lab.open(dir);
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
  const before = await open.bank.list();
  const chunk = lab.chunk(nearTexts(MEMORIES), { index: 1 });
  const { frameworkSaid, concluded } = await conclude(lab, open, { chunk, before });
  const after = await listingOf(open);
  return {
    frameworkSaid,
    storeShows: after === undefined ? 'cannot be listed' : differenceText(before, after),
    concluded:
      injection === undefined || met.has('reached') ? concluded : ([...met][0] ?? 'not reached'),
    after: after && textsOf(after),
    asked,
  };
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
