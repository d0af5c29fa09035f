/** The obligations of the harness contract, each tried on live banks. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Scene } from '../core/conversation.ts';
import { FaultError } from '../core/outcome.ts';
import { forkBank } from '../harness/fork.ts';
import type { ObligationResult } from './certificate.ts';
import { DAY, distinctTexts, type Lab, type OpenBank, textsOf } from './lab.ts';

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
    // A framework that fails where it must not has broken its promise as well.
    if (cause instanceof Violation || cause instanceof FaultError) {
      return { name, status: 'violated', detail: cause.message };
    }
    throw cause;
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
  return `nothing happened in ${lab.watchMs} ms after it`;
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
  return 'copies of a closed directory diverge';
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
  return 'equal for equal contents under other ids, stable over reopening, changed by a write';
}

async function retrieval(lab: Lab): Promise<string> {
  await using open = await lab.open();
  await lab.write(open, distinctTexts(3));
  const before = [textsOf(await open.bank.list()), await open.bank.contentHash()];
  open.slot.setPurpose('retrieve');
  const blocks = [];
  for (const question of [...distinctTexts(3), 'nothing of that kind', 'héllo 🐱?']) {
    blocks.push(await open.bank.retrieve(question));
  }
  await wait(lab.watchMs);
  const after = [textsOf(await open.bank.list()), await open.bank.contentHash()];
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    throw new Violation('reading changed the bank');
  }
  return `${blocks.filter((block) => block !== '').length} of ${blocks.length} blocks are not empty`;
}

async function clock(lab: Lab): Promise<string> {
  await using open = await lab.open();
  const day = '2021-03-05';
  await lab.write(open, distinctTexts(2));
  const calls = await lab.write(open, distinctTexts(1, 70), {
    at: `${day}T21:30:00+02:00`,
    index: 1,
  });
  const prompts = calls
    .flatMap(({ messages }) => messages.map(({ content }) => content))
    .join('\n');
  const today = new Date().toISOString().slice(0, 10);
  if (prompts.includes(today)) throw new Violation(`a prompt shows this machine's day, ${today}`);
  if (prompts.includes(day)) return `prompts show the conversation's day, ${day}`;
  throw new NotApplicable('no date stands in its prompts');
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
  return 'emoji, right-to-left, combining marks, quotes and 3,600 characters are kept';
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
  let asked = false;
  const killed = new Promise<void>((resolve) => {
    open.script = () => {
      asked = true;
      resolve();
      return { kind: 'hang' };
    };
  }).then(() => process.kill(pid, 'SIGKILL'));
  open.slot.setPurpose('write');
  const failure = await bank.write(lab.chunk(distinctTexts(1, 80), { index: 1 })).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  await killed;
  if (!asked || !(failure instanceof FaultError)) {
    throw new Violation('a write whose process was killed did not reject with a fault');
  }
  const restored = lab.newDirectory();
  await forkBank(dir, restored);
  await using again = await lab.open(restored);
  await assertHash(again, hash, 'the restored bank');
  return 'the write is a fault, and the fork before it opens unchanged';
}

async function lock(lab: Lab): Promise<string> {
  await using open = await lab.open();
  if (await opens(lab, open.dir)) throw new Violation('a second open of the directory succeeded');
  return 'a second open of the directory is refused';
}

async function wrongDimensions(lab: Lab): Promise<string> {
  const { dir, dimensions } = await closedBank(lab, distinctTexts(1));
  const failure = await failureOf(lab, dir, dimensions + 1);
  if (failure === undefined) throw new Violation('a bank of other dimensions was opened');
  return failure.message.slice(0, 160);
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
  return `a ${wrong} chunk is refused before any call`;
}

/** Runs last: over the calls of every write above. */
async function signatures(lab: Lab): Promise<string> {
  const [first] = lab.strangers;
  if (first !== undefined) {
    throw new Violation(`${lab.strangers.length} calls of sound writes were not ok; ${first}`);
  }
  return 'every call of every write was recognised and its answer accepted';
}

async function closedBank(lab: Lab, texts: readonly string[]) {
  await using open = await lab.open();
  await lab.write(open, texts);
  const hash = await open.bank.contentHash();
  const { dimensions } = open.slot.embeddings;
  await open.bank.close();
  return { dir: open.dir, hash, dimensions };
}

async function assertHash({ bank }: OpenBank, hash: string, what: string): Promise<void> {
  if ((await bank.contentHash()) !== hash) throw new Violation(`${what} has another content hash`);
}

async function opens(lab: Lab, dir: string): Promise<boolean> {
  return (await failureOf(lab, dir, undefined)) === undefined;
}

async function failureOf(
  lab: Lab,
  dir: string,
  dimensions: number | undefined,
): Promise<Error | undefined> {
  const embeddings = { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'none', model: 'hash' };
  const more = dimensions === undefined ? {} : { embeddings: { ...embeddings, dimensions } };
  try {
    await using _open = await lab.open(dir, { now: DAY, ...more });
    return undefined;
  } catch (cause) {
    if (cause instanceof FaultError) return cause;
    throw cause;
  }
}
