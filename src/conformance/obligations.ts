/** The obligations of the harness contract, each tried on live banks. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Scene } from '../core/conversation.ts';
import { FaultError } from '../core/outcome.ts';
import type { Call } from '../core/trace.ts';
import { forkBank } from '../harness/fork.ts';
import type { ObligationResult } from './certificate.ts';
import { conclude, messageOf } from './conclude.ts';
import {
  DAY,
  distinctTexts,
  type Lab,
  nearTexts,
  type OpenBank,
  provoking,
  storing,
  textsOf,
} from './lab.ts';

export interface Obligation {
  readonly name: string;
  /** What was seen. Throws `Violation` where it does not hold, `NotApplicable` where it cannot be tried. */
  readonly run: (lab: Lab, limits: Limits) => Promise<string>;
}

export interface Limits {
  /** Memories of the largest bank that is listed. */
  readonly memories: number;
}

class Violation extends Error {
  override readonly name = 'Violation';
}

class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}

export async function tryObligation(
  { name, run }: Obligation,
  lab: Lab,
  limits: Limits,
): Promise<ObligationResult> {
  try {
    return { name, status: 'held', detail: await run(lab, limits) };
  } catch (cause) {
    if (cause instanceof NotApplicable) {
      return { name, status: 'not-applicable', detail: cause.message };
    }
    // A framework that fails where it must not has broken its promise as well, and one that fails with an error which
    // is no fault has broken another; the rest of the certificate still counts.
    const detail = messageOf(cause);
    const attributed = cause instanceof Violation || cause instanceof FaultError;
    return { name, status: 'violated', detail: attributed ? detail : `not a fault: ${detail}` };
  }
}

/** The capped listings of real frameworks are at 20 and 100; memories come in writes of at most this many. */
const COUNTS = [0, 1, 19, 20, 21, 100, 101, 1_000];
const PER_WRITE = 100;

export const OBLIGATIONS: readonly Obligation[] = [
  { name: 'settled writes', run: settled },
  { name: 'complete listing', run: completeListing },
  { name: 'fork independence', run: forkIndependence },
  { name: 'content hash', run: contentHash },
  { name: 'retrieval without change', run: retrieval },
  { name: 'clock', run: clock },
  { name: 'unicode', run: unicode },
  { name: 'parallel banks', run: parallelBanks },
  { name: 'kill in mid-write', run: killAndRestore },
  { name: 'lock', run: lock },
  { name: 'wrong dimensions', run: wrongDimensions },
  { name: 'scenes', run: scenes },
  { name: 'stage signatures', run: signatures },
];

async function settled(lab: Lab): Promise<string> {
  await using open = await lab.open();
  await lab.write(open, distinctTexts(3));
  const before = [textsOf(await open.bank.list()), await open.bank.contentHash()];
  await wait(lab.watchMs);
  const after = [textsOf(await open.bank.list()), await open.bank.contentHash()];
  const late = open.slot.take();
  if (late.length > 0) throw new Violation(`${late.length} calls came after the write resolved`);
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    throw new Violation('the bank changed after the write resolved');
  }
  return `no call came and nothing changed in ${lab.watchMs} ms after it`;
}

async function completeListing(lab: Lab, { memories }: Limits): Promise<string> {
  await using open = await lab.open();
  const seen: number[] = [];
  let stored = 0;
  for (const count of COUNTS.filter((one) => one <= memories)) {
    while (stored < count) {
      const more = Math.min(PER_WRITE, count - stored);
      await lab.write(open, distinctTexts(more, stored), { index: stored });
      stored += more;
    }
    const listed = await open.bank.list();
    if (listed.length !== count) {
      throw new Violation(`${listed.length} memories listed after ${count} were written`);
    }
    if (new Set(textsOf(listed)).size !== count) throw new Violation(`texts repeat at ${count}`);
    seen.push(count);
  }
  return `at ${seen.join(', ')} memories, at most ${PER_WRITE} a write`;
}

async function forkIndependence(lab: Lab): Promise<string> {
  const { dir, hash } = await closedBank(lab, distinctTexts(3));
  const copy = lab.newDirectory();
  await forkBank(dir, copy);
  await using left = await lab.open(dir);
  await using right = await lab.open(copy);
  await assertHash(left, hash, 'the original, reopened,');
  await assertHash(right, hash, 'the copy');
  await lab.write(right, distinctTexts(1, 50), { index: 1 });
  await assertHash(left, hash, 'the original, after a write to its copy,');
  if ((await right.bank.contentHash()) === hash) throw new Violation('the copy did not change');
  return 'a write to the copy of a closed directory leaves the original as it was';
}

async function contentHash(lab: Lab): Promise<string> {
  const [one, other] = [
    await closedBank(lab, distinctTexts(3)),
    await closedBank(lab, distinctTexts(3)),
  ];
  if (one.hash !== other.hash) throw new Violation('equal contents have different hashes');
  await using open = await lab.open(one.dir);
  await assertHash(open, one.hash, 'a reopened bank');
  await lab.write(open, distinctTexts(1, 60), { index: 1 });
  if ((await open.bank.contentHash()) === one.hash) {
    throw new Violation('a changed bank has the same hash');
  }
  return 'equal for two banks of equal contents, stable over reopening, changed by a write';
}

async function retrieval(lab: Lab): Promise<string> {
  await using open = await lab.open();
  await lab.write(open, distinctTexts(3));
  const before = [textsOf(await open.bank.list()), await open.bank.contentHash()];
  open.slot.setPurpose('retrieve');
  const found = [];
  for (const own of distinctTexts(3)) found.push(await open.bank.retrieve(own));
  for (const other of ['nothing of that kind', 'héllo 🐱?']) await open.bank.retrieve(other);
  await wait(lab.watchMs);
  const after = [textsOf(await open.bank.list()), await open.bank.contentHash()];
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    throw new Violation('reading changed the bank');
  }
  const filled = found.filter((block) => block !== '').length;
  const word = filled === 0 ? ', so that reading was hardly tried' : '';
  return `5 questions change nothing; ${filled} of 3 for stored texts find something${word}`;
}

/** The open, two writes, and the second in UTC: each on a day of its own, and wall time is the contract. */
const OPENED = '2021-02-11';
const SECOND = '2021-03-05';
const SECOND_UTC = '2021-03-06';

async function clock(lab: Lab): Promise<string> {
  await using open = await lab.open(lab.newDirectory(), { now: `${OPENED}T10:15:00+00:00` });
  const first = promptsOf(await lab.write(open, distinctTexts(2)));
  const at = `${SECOND}T21:30:00-05:00`;
  // Near texts and every stage, twice: a date may stand only in a summary, and only of what was stored before.
  const write = (texts: readonly string[], index: number): Promise<Call[]> =>
    lab.write(open, texts, { at, index, reply: provoking });
  const texts = nearTexts(2);
  const again = texts.map((text) => `${text} again`);
  const second = promptsOf([...(await write(texts, 1)), ...(await write(again, 2))]);
  const today = new Date().toISOString().slice(0, 10);
  const wrong: readonly (readonly [string, string])[] = [
    [today, "this machine's day"],
    [OPENED, 'the day of the open'],
    [SECOND_UTC, 'the day in UTC, not of the wall,'],
  ];
  for (const [day, what] of wrong) {
    if (`${first}\n${second}`.includes(day)) throw new Violation(`a prompt shows ${what} ${day}`);
  }
  if (second.includes(SECOND)) return `prompts show the conversation's day, ${SECOND}`;
  if (first.includes(DAY.slice(0, 10))) {
    throw new Violation(`the first write's prompts show its day, later ones do not show ${SECOND}`);
  }
  throw new NotApplicable('no date of the form 2021-03-05 stands in its prompts');
}

function promptsOf(calls: readonly Call[]): string {
  return calls.flatMap(({ messages }) => messages.map(({ content }) => content)).join('\n');
}

const ODD_TEXTS = [
  'cat 🐱 family 👩‍👩‍👧 flag 🇳🇴',
  'שלום עולם and مرحبا',
  'e\u0301a\u0308 combining, ﬁ ligature, Ω ohm',
  'quotes " \' ` and backslash \\ and braces { } [ ]',
  `one very long line ${'lorem '.repeat(600)}end`,
];

async function unicode(lab: Lab): Promise<string> {
  await using open = await lab.open();
  for (const [index, text] of ODD_TEXTS.entries()) {
    const before = (await open.bank.list()).length;
    await lab.write(open, [text], { index });
    const listed = await open.bank.list();
    if (listed.length <= before || !listed.some((memory) => isKept(memory.text, text))) {
      throw new Violation(`not stored as it was: ${text.slice(0, 60)}`);
    }
  }
  return `emoji, right-to-left, combining marks, quotes and 3,600 characters are kept; NUL is ${await nul(lab)}`;
}

/** SQLite and JSON cut or refuse it: a write that loses it must not be concluded as a success. */
async function nul(lab: Lab): Promise<string> {
  await using open = await lab.open();
  const text = 'before\u0000after';
  const before = await open.bank.list();
  open.script = storing([text]);
  const { concluded } = await conclude(lab, open, { chunk: lab.chunk([text]), before });
  if (concluded !== 'ok') return `not kept and said so (${concluded})`;
  const listed = await open.bank.list();
  if (listed.some((memory) => memory.text.includes(text))) return 'kept';
  throw new Violation('a NUL was lost and the write was concluded ok');
}

/** White space may be folded, and a scene may list a text within a longer one. */
function isKept(listed: string, text: string): boolean {
  const fold = (one: string): string => one.normalize('NFC').replace(/\s+/g, ' ').trim();
  return fold(listed).includes(fold(text));
}

async function parallelBanks(lab: Lab): Promise<string> {
  await using left = await lab.open();
  await using right = await lab.open();
  for (const round of [0, 1, 2]) {
    await Promise.all([
      lab.write(left, distinctTexts(1, 200 + round), { index: round }),
      lab.write(right, distinctTexts(1, 300 + round), { index: round }),
    ]);
  }
  const [mine, other] = [textsOf(await left.bank.list()), textsOf(await right.bank.list())];
  if (mine.length !== 3 || other.length !== 3) {
    throw new Violation(`${mine.length} and ${other.length} memories after 3 writes each`);
  }
  if (mine.some((text) => other.includes(text))) throw new Violation('one bank leaks into another');
  return 'two banks written at the same time keep apart';
}

async function killAndRestore(lab: Lab): Promise<string> {
  const { dir, hash } = await closedBank(lab, distinctTexts(3));
  const victim = lab.newDirectory();
  await forkBank(dir, victim);
  await using open = await lab.open(victim);
  const { bank } = open;
  if (!('pid' in bank) || typeof bank.pid !== 'number') {
    throw new NotApplicable('its banks are no processes of their own');
  }
  const { pid } = bank;
  const asked = new Promise<'asked'>((resolve) => {
    open.script = () => {
      resolve('asked');
      return { kind: 'hang' };
    };
  });
  open.slot.setPurpose('write');
  const written = bank.write(lab.chunk(distinctTexts(1, 80), { index: 1 })).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if ((await Promise.race([asked, written])) !== 'asked') {
    throw new Violation('the write settled without asking the model');
  }
  process.kill(pid, 'SIGKILL');
  if (!((await written) instanceof FaultError)) {
    throw new Violation('a write whose process was killed did not reject with a fault');
  }
  const restored = lab.newDirectory();
  await forkBank(dir, restored);
  await using again = await lab.open(restored);
  await assertHash(again, hash, 'the restored bank');
  return 'the write is a fault, and the fork before it opens with its content hash';
}

async function lock(lab: Lab): Promise<string> {
  await using open = await lab.open();
  const failure = await failureOf(() => lab.open(open.dir));
  return refusedByStore(failure, 'a second open of the directory');
}

async function wrongDimensions(lab: Lab): Promise<string> {
  const { dir, hash } = await closedBank(lab, distinctTexts(1));
  const failure = await failureOf(() =>
    lab.open(dir, ({ embeddings }) => ({
      embeddings: { ...embeddings, dimensions: embeddings.dimensions + 1 },
    })),
  );
  const refused = refusedByStore(failure, 'an open with one dimension more');
  await using again = await lab.open(dir);
  await assertHash(again, hash, 'the bank, opened with the right dimensions,');
  return `${refused}; with the right ones it opens as it was`;
}

function refusedByStore(failure: FaultError | undefined, what: string): string {
  if (failure === undefined) throw new Violation(`${what} succeeded`);
  if (failure.boundary !== 'store') {
    throw new Violation(
      `${what} is a fault of ${failure.boundary}, not of store: ${failure.message}`,
    );
  }
  return `${what} is a fault of store`;
}

async function scenes(lab: Lab): Promise<string> {
  const all: readonly Scene[] = ['chat', 'working', 'coding'];
  const wrong = all.find((scene) => !lab.harness.scenes.includes(scene));
  if (wrong === undefined) throw new NotApplicable('it takes every scene');
  await using open = await lab.open();
  const chunk = lab.chunk(distinctTexts(1), { scene: wrong });
  const refused = await open.bank.write(chunk).then(
    () => false,
    (cause: unknown) => cause instanceof FaultError,
  );
  if (!refused) throw new Violation(`a ${wrong} chunk was taken`);
  const calls = open.slot.take();
  if (calls.length > 0) throw new Violation(`${calls.length} calls came before it was refused`);
  return `a ${wrong} chunk is refused before any call`;
}

/** Runs last: over the calls of every write above. */
async function signatures(lab: Lab): Promise<string> {
  const [first] = lab.strangers;
  if (first !== undefined) {
    throw new Violation(`${lab.strangers.length} calls of sound writes were not ok; ${first}`);
  }
  return 'every call of the writes above was recognised and its answer accepted';
}

/** For the very end: over all banks of the check, those of fault cells too. */
export const ORDERLY_CLOSE: Obligation = {
  name: 'orderly close',
  run: async ({ unclosed }) => {
    const [first] = unclosed;
    if (first !== undefined) {
      throw new Violation(`${unclosed.length} banks did not close; the first: ${first}`);
    }
    return 'every bank closed, whatever had been tried on it';
  },
};

async function closedBank(lab: Lab, texts: readonly string[]) {
  await using open = await lab.open();
  await lab.write(open, texts);
  const hash = await open.bank.contentHash();
  await open.bank.close();
  return { dir: open.dir, hash };
}

async function assertHash({ bank }: OpenBank, hash: string, what: string): Promise<void> {
  if ((await bank.contentHash()) !== hash) throw new Violation(`${what} has another content hash`);
}

async function failureOf(opening: () => Promise<OpenBank>): Promise<FaultError | undefined> {
  try {
    await using _open = await opening();
    return undefined;
  } catch (cause) {
    if (cause instanceof FaultError) return cause;
    throw cause;
  }
}
