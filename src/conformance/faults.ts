/** Every stage of a write meets every failure: what the framework says, what its store holds, and what we conclude. */
import type { ChatMessage } from '../core/chat.ts';
import type { Stage } from '../core/stage.ts';
import type { UpstreamReply } from '../testing/scripted-upstream.ts';
import { CELL_MEMORIES, type Cell, type Injection, runCell, runReading } from './cell.ts';
import type { FaultCell, ObligationResult } from './certificate.ts';
import { messageOf } from './conclude.ts';
import { EMBEDDING, type JudgedCell, judgeCells } from './judge-cells.ts';
import { distinctTexts, type Lab, nearTexts, provoking, type Reply, storing } from './lab.ts';

const text = (content: string): UpstreamReply => ({ kind: 'text', text: content });
const status =
  (code: number): Injection =>
  () => ({ kind: 'status', status: code });

type Injections = Readonly<Record<string, Injection>>;

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

const MISNAMED = new Set(['unknown id', 'duplicate id']);

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

interface EmbeddingInjection {
  readonly injected: string;
  readonly reply: UpstreamReply;
  /** From which of a write's so many embedding requests on. Undefined where that is another injection's place. */
  readonly from: (requests: number) => number | undefined;
}

/** A framework embeds what it looks for, what it stores, or both: what fails late meets another part of it. */
const EMBEDDING_FAILURES: readonly (readonly [string, UpstreamReply])[] = [
  ['HTTP 500', { kind: 'status', status: 500 }],
  ['cut connection', { kind: 'cut' }],
];
const EMBEDDING_INJECTIONS: readonly EmbeddingInjection[] = EMBEDDING_FAILURES.flatMap(
  ([injected, reply]) => [
    { injected, reply, from: () => 1 },
    { injected: `${injected} from the second on`, reply, from: () => 2 },
    { injected: `${injected} at the last`, reply, from: (n) => (n > 2 ? n : undefined) },
  ],
);

function misnamed(
  stage: Stage,
  messages: readonly ChatMessage[],
  kind: 'unknown-id' | 'duplicate-id',
): UpstreamReply | undefined {
  const answer = stage.misname?.(kind, messages);
  return answer === undefined ? undefined : text(answer);
}

export interface FaultReport {
  readonly cells: readonly FaultCell[];
  readonly obligations: readonly ObligationResult[];
}

interface Control {
  /** Answers of a write in which nothing goes wrong. */
  readonly reply: Reply;
  readonly cell: Cell;
}

interface Started {
  readonly parent: string;
  readonly controls: readonly Control[];
}

/** `onCell` is told after each. */
export async function injectFaults(lab: Lab, onCell: () => void): Promise<FaultReport> {
  let started: Started;
  try {
    started = await runControls(lab);
  } catch (cause) {
    return { cells: [], obligations: judgeCells(lab, [], `no sound write: ${messageOf(cause)}`) };
  }
  const broken = started.controls.find(({ cell }) => cell.concluded !== 'ok')?.cell;
  const judged = [
    ...(await failStages(lab, started, onCell)),
    ...(await failEmbeddings(lab, started, onCell)),
    ...(await failReadings(lab, started.parent, onCell)),
  ];
  const trouble =
    broken && `a sound write was concluded ${broken.concluded}: ${broken.frameworkSaid}`;
  return {
    cells: judged.map(({ cell }) => cell),
    obligations: judgeCells(lab, judged, trouble),
  };
}

async function failStages(
  lab: Lab,
  { parent, controls }: Started,
  onCell: () => void,
): Promise<JudgedCell[]> {
  const judged: JudgedCell[] = [];
  for (const stage of lab.harness.stages) {
    const { reply, cell: control } = controlOf(controls, stage);
    for (const [failing, injected, inject] of INJECTIONS) {
      // A write for what the stage cannot answer would only repeat the control.
      const cell: Cell =
        stage.misname === undefined && MISNAMED.has(injected)
          ? { ...control, concluded: 'no such answer' }
          : await runCell(lab, parent, { reply, injection: { stage, inject } });
      judged.push(judgedCell(cell, control, { stage: stage.name, injected, failing }));
      onCell();
    }
  }
  return judged;
}

/** Of the write that goes farthest. */
async function failEmbeddings(
  lab: Lab,
  { parent, controls }: Started,
  onCell: () => void,
): Promise<JudgedCell[]> {
  const control = controls.at(-1);
  if (control === undefined) throw new Error('there is no control');
  const judged: JudgedCell[] = [];
  for (const { injected, reply: failure, from: place } of EMBEDDING_INJECTIONS) {
    const { reply, cell: sound } = control;
    const from = place(sound.embeddings);
    const cell: Cell =
      from === undefined || from > sound.embeddings
        ? { ...sound, concluded: 'not reached' }
        : await runCell(lab, parent, { reply, embedding: { reply: failure, from } });
    judged.push(judgedCell(cell, sound, { stage: EMBEDDING, injected, failing: 'embedding' }));
    onCell();
  }
  return judged;
}

/** A framework that finds nothing for want of a vector would be taken for a bank that holds nothing. */
async function failReadings(lab: Lab, parent: string, onCell: () => void): Promise<JudgedCell[]> {
  const judged: JudgedCell[] = [];
  for (const [failure, reply] of EMBEDDING_FAILURES) {
    const { whole, ...said } = await runReading(lab, parent, { reply, from: 1 });
    const cell = { stage: EMBEDDING, injected: `${failure} while reading`, ...said };
    judged.push({ cell, failing: 'embedding', whole });
    onCell();
  }
  return judged;
}

function judgedCell(
  { frameworkSaid, storeShows, concluded, after, state }: Cell,
  control: Cell,
  { stage, injected, failing }: Pick<FaultCell, 'stage' | 'injected'> & Pick<JudgedCell, 'failing'>,
): JudgedCell {
  // An odd answer may be a sound one, and change what no listing shows; without a vector nothing changes but what is found.
  const whole =
    failing === 'embedding'
      ? state !== undefined && state === control.state
      : JSON.stringify(after) === JSON.stringify(control.after);
  return { cell: { stage, injected, frameworkSaid, storeShows, concluded }, failing, whole };
}

/** The normal path, and the way past it where that does not reach every stage. */
async function runControls(lab: Lab): Promise<Started> {
  const parent = await parentBank(lab);
  const texts = nearTexts(CELL_MEMORIES);
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
  return (
    lab.harness.stages.length * INJECTIONS.length +
    EMBEDDING_INJECTIONS.length +
    EMBEDDING_FAILURES.length
  );
}

/** Holds memories that the next write's are near to, so that stages which merge are reached. */
async function parentBank(lab: Lab): Promise<string> {
  await using open = await lab.open();
  await lab.write(open, distinctTexts(CELL_MEMORIES));
  await open.bank.close();
  return open.dir;
}
