/** The kit finds what is broken: each misbehaviour of a framework violates the obligation that forbids it. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Chunk } from '../core/conversation.ts';
import { FaultError } from '../core/outcome.ts';
import type { CheckedCall, Stage } from '../core/stage.ts';
import { createGateway } from '../gateway/gateway.ts';
import type { Bank, Harness, OpenOptions } from '../harness/contract.ts';
import { keepStage } from '../testing/keep-stage.ts';
import { createMemoryHarness, type Misbehaviour, type Moment } from '../testing/memory-harness.ts';
import { createScratch } from '../testing/scratch.ts';
import { toyEmbedder } from '../testing/toy-tokens.ts';
import { type Certificate, certificateSchema, isViolated } from './certificate.ts';
import { checkHarness } from './check.ts';

let root = '';
beforeEach(async () => {
  root = (await createScratch()).path;
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

/** The time-out is for "time-out" alone: on a busy machine a sound answer took more than 100 ms. */
async function certify(harness: Harness): Promise<Certificate> {
  const retry = { attempts: 1, baseDelayMs: 1, maxDelayMs: 1, maxRetryAfterMs: 1 };
  await using gateway = await createGateway({ embedder: toyEmbedder, retry });
  return await checkHarness({ harness, gateway, root, memories: 21, timeoutMs: 300, watchMs: 20 });
}

function violated({ obligations }: Certificate): string[] {
  return obligations.filter(({ status }) => status === 'violated').map(({ name }) => name);
}

/** The in-memory bank keeps neither lock nor identity: the two it never claims to hold. */
const UNCLAIMED = ['lock', 'wrong dimensions'];

test('a sound framework holds the rest, and every cell that lost something says so', async () => {
  const certificate = await certify(createMemoryHarness());
  expect(violated(certificate)).toEqual(UNCLAIMED);
  expect(certificateSchema.parse(certificate)).toEqual(certificate);
  const concluded = Object.fromEntries(
    certificate.faultCells
      .filter(({ stage }) => stage === 'keep')
      .map(({ injected, concluded: said }) => [injected, said]),
  );
  expect(concluded).toMatchObject({
    'bad text': 'policy-error: unparsable',
    empty: 'policy-error: empty-completion',
    truncated: 'policy-error: truncated',
    'HTTP 400': 'fault: upstream',
    'HTTP 500': 'fault: upstream',
    'cut connection': 'fault: upstream',
    'time-out': 'fault: upstream',
  });
});

test('a stage that no write reaches is named, and what was tried still counts', async () => {
  const ghost: Stage = { ...keepStage, name: 'ghost', recognise: () => false };
  const { obligations } = await certify({ ...createMemoryHarness(), stages: [keepStage, ghost] });
  const { status, detail } = obligations.find(({ name }) => name === 'no silent loss') ?? {};
  expect(status).toBe('held');
  expect(detail).toContain('9 of 30 cells tried; stages not reached: ghost, embedding');
});

test('a failing embedding is met by a write’s first request, by later ones, by its last, and by a reading', async () => {
  const certificate = await certify(createMemoryHarness({ embeds: true }));
  expect(violated(certificate)).toEqual(UNCLAIMED);
  const cells = certificate.faultCells.filter(({ stage }) => stage === 'embedding');
  const met = (storeShows: string) => ['no vector', storeShows, 'fault: embedder'];
  expect(
    cells.map(({ frameworkSaid, storeShows, concluded }) => [frameworkSaid, storeShows, concluded]),
  ).toEqual([
    ...[1, 2].flatMap(() => [met('unchanged'), met('1 add'), met('3 add')]),
    ...[1, 2].map(() => met('unchanged')),
  ]);
});

const misbehaving =
  (operation: Moment['operation'], trouble: Misbehaviour) =>
  (moment: Moment): Misbehaviour | undefined =>
    moment.operation === operation ? trouble : undefined;

test.each<[string, () => Harness, string]>([
  [
    'a capped listing',
    () => createMemoryHarness({ misbehave: misbehaving('list', 'cap-listing') }),
    'complete listing',
  ],
  [
    'a retrieval that writes',
    () => createMemoryHarness({ misbehave: misbehaving('retrieve', 'store-question') }),
    'retrieval without change',
  ],
  [
    'a write that is lost while the framework reports success',
    () => createMemoryHarness({ misbehave: misbehaving('write', 'lose-write') }),
    'no silent loss',
  ],
  [
    'a bank that forgets what it was forked from',
    () => createMemoryHarness({ misbehave: misbehaving('open', 'forget-parent') }),
    'fork independence',
  ],
  ['a hash that follows random ids', () => wrapped(unstableHash), 'content hash'],
  ['banks that share one store', () => sharing(createMemoryHarness()), 'parallel banks'],
  ['a write that goes on after it resolved', () => wrapped(lateWrite), 'settled writes'],
  ['a bank that will not close', () => wrapped(unclosable), 'orderly close'],
  ['a write that settles without asking the model', () => silentProcess(), 'kill in mid-write'],
  ['a bad answer that is swallowed and reported stored', () => swallowing(), 'no silent loss'],
  ['a bad answer that is swallowed and called sound', () => swallowing(), 'attribution'],
  [
    'a text without a vector that is stored and never found',
    () => createMemoryHarness({ embeds: true, misbehave: misbehaving('write', 'hide-unembedded') }),
    'no silent loss',
  ],
  [
    'a text without a vector that is left out, and may be',
    () => ({
      ...createMemoryHarness({ embeds: true, misbehave: misbehaving('write', 'skip-unembedded') }),
      effectOf: (calls) => ({ requests: [], optional: calls.flatMap(textsAsked) }),
    }),
    'no silent loss',
  ],
  [
    'a question without a vector that finds nothing',
    () => createMemoryHarness({ embeds: true, misbehave: misbehaving('retrieve', 'find-nothing') }),
    'no silent loss',
  ],
  ['a provider fault that is called another', () => wrapped(blind), 'attribution'],
  ['a clock that stands at the open', () => wrapped(dated(({ now }) => now)), 'clock'],
  ['a clock in UTC', () => wrapped(dated((_, { at }) => new Date(at).toISOString())), 'clock'],
  ['a second open that fails for another reason', () => wrapped(() => ({}), busy), 'lock'],
  ['a check of the model in place of dimensions', () => checkingModel(), 'wrong dimensions'],
  ['a call before a scene is refused', () => wrapped(refuseLate, chatOnly), 'scenes'],
  ['a NUL that is cut in silence', () => wrapped(cutNul, cutStage), 'unicode'],
  ['an error that is no fault', () => wrapped(throwing), 'content hash'],
])('%s violates it', async (_name, create, obligation) => {
  const certificate = await certify(create());
  expect(violated(certificate)).toContain(obligation);
  expect(isViolated(certificate)).toBe(true);
});

function textsAsked({ operations }: CheckedCall): string[] {
  return operations.flatMap((operation) => (operation.kind === 'add' ? [operation.text] : []));
}

type Change = (bank: Bank, options: OpenOptions) => Partial<Bank>;

function wrapped(change: Change, more: (sound: Harness) => Partial<Harness> = () => ({})): Harness {
  const memory = createMemoryHarness();
  const sound = { ...memory, ...more(memory) };
  return {
    ...sound,
    open: async (options) => {
      const bank = await sound.open(options);
      return { ...bound(bank), ...change(bank, options) };
    },
  };
}

function bound(bank: Bank): Bank {
  return {
    write: (chunk) => bank.write(chunk),
    list: () => bank.list(),
    retrieve: (question) => bank.retrieve(question),
    contentHash: () => bank.contentHash(),
    close: () => bank.close(),
    [Symbol.asyncDispose]: () => bank[Symbol.asyncDispose](),
  };
}

function unstableHash(bank: Bank): Partial<Bank> {
  return {
    contentHash: async () => (await bank.list()).map(({ id }) => id).join(),
  };
}

function unclosable(): Partial<Bank> {
  const refuse = (): Promise<void> => Promise.reject(new FaultError('harness', 'still busy'));
  return { [Symbol.asyncDispose]: refuse };
}

function lateWrite(bank: Bank): Partial<Bank> {
  return {
    write: async (chunk) => {
      setTimeout(() => void bank.write(chunk).catch(() => undefined), 5);
      return { sideEffects: [] };
    },
  };
}

/** No process has this id: it is above the largest. */
const NO_PID = 4_194_305;

function silentProcess(): Harness {
  const sound = createMemoryHarness({ misbehave: misbehaving('write', 'no-call') });
  return {
    ...sound,
    open: async (options) => ({ ...bound(await sound.open(options)), pid: NO_PID }),
  };
}

/** What the framework drops passes for an answer that asks for nothing: only the listing can tell. */
function swallowing(): Harness {
  const sound = createMemoryHarness({ misbehave: misbehaving('write', 'swallow-malformed') });
  const lenient: Stage = {
    ...keepStage,
    check: (answer, messages) => {
      const verdict = keepStage.check(answer, messages);
      return verdict.kind === 'malformed' ? { kind: 'well-formed', operations: [] } : verdict;
    },
  };
  return { ...sound, stages: [lenient] };
}

/** Lists no more once a write failed: what was concluded is then the store's fault, not the provider's. */
function blind(bank: Bank): Partial<Bank> {
  let failed = false;
  return {
    write: async (chunk) => {
      try {
        return await bank.write(chunk);
      } catch (cause) {
        failed = true;
        throw cause;
      }
    },
    list: async () => {
      if (failed) throw new FaultError('store', 'closed after a failure');
      return await bank.list();
    },
  };
}

function dated(today: (options: OpenOptions, chunk: Chunk) => string): Change {
  return (bank, options) => ({
    write: (chunk) => bank.write(prefixed(chunk, `today is ${today(options, chunk).slice(0, 10)}`)),
  });
}

function prefixed(chunk: Chunk, text: string): Chunk {
  return { ...chunk, messages: [{ id: 'first', role: 'user', text }, ...chunk.messages] };
}

/** A port that is taken, say. */
function busy(sound: Harness): Partial<Harness> {
  const open = new Set<string>();
  return {
    open: async (options) => {
      const { dir } = options;
      if (open.has(dir)) throw new FaultError('harness', 'address in use');
      const bank = await sound.open(options);
      open.add(dir);
      const release = async (): Promise<void> => {
        open.delete(dir);
        await bank.close();
      };
      return { ...bound(bank), close: release, [Symbol.asyncDispose]: release };
    },
  };
}

function checkingModel(): Harness {
  let model: string | undefined;
  return wrapped(
    () => ({}),
    (sound) => ({
      open: async (options) => {
        model ??= options.embeddings.model;
        if (model !== options.embeddings.model) throw new FaultError('store', 'another model');
        return await sound.open(options);
      },
    }),
  );
}

const chatOnly = (): Partial<Harness> => ({ scenes: ['chat'] });

function refuseLate(bank: Bank): Partial<Bank> {
  return {
    write: async (chunk) => {
      const report = await bank.write(chunk);
      if (chunk.scene !== 'chat') throw new FaultError('harness', 'only chat');
      return report;
    },
  };
}

const beforeNul = (text: string): string => text.split('\0')[0] ?? '';

/** As a store in C would. */
function cutNul(bank: Bank): Partial<Bank> {
  return {
    list: async () =>
      (await bank.list()).map((memory) => ({ ...memory, text: beforeNul(memory.text) })),
  };
}

/** An adapter that expects the cut: no listing then tells of it. */
function cutStage(): Partial<Harness> {
  const check: Stage['check'] = (answer, messages) => keepStage.check(beforeNul(answer), messages);
  return { stages: [{ ...keepStage, check }] };
}

function throwing(): Partial<Bank> {
  return { contentHash: () => Promise.reject(new TypeError('no such method')) };
}

/** Whatever is opened while another bank is open is that bank. */
function sharing(sound: Harness): Harness {
  let first: Bank | undefined;
  return {
    ...sound,
    open: async (options: OpenOptions) => {
      const mine = first === undefined;
      const bank = first ?? (await sound.open(options));
      first = bank;
      const release = async (): Promise<void> => {
        if (!mine) return;
        first = undefined;
        await bank.close();
      };
      return { ...bound(bank), close: release, [Symbol.asyncDispose]: release };
    },
  };
}
