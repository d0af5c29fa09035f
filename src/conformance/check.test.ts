/** The kit finds what is broken: each misbehaviour of a framework violates the obligation that forbids it. */
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGateway } from '../gateway/gateway.ts';
import type { Bank, Harness, OpenOptions } from '../harness/contract.ts';
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

async function certify(harness: Harness): Promise<Certificate> {
  const retry = { attempts: 1, baseDelayMs: 1, maxDelayMs: 1, maxRetryAfterMs: 1 };
  await using gateway = await createGateway({ embedder: toyEmbedder, retry });
  return await checkHarness({ harness, gateway, root, memories: 21, timeoutMs: 100, watchMs: 20 });
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
    certificate.faultCells.map(({ injected, concluded: said }) => [injected, said]),
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
])('%s violates it', async (_name, create, obligation) => {
  const certificate = await certify(create());
  expect(violated(certificate)).toContain(obligation);
  expect(isViolated(certificate)).toBe(true);
});

function wrapped(change: (bank: Bank) => Partial<Bank>): Harness {
  const sound = createMemoryHarness();
  return {
    ...sound,
    open: async (options) => {
      const bank = await sound.open(options);
      return { ...bound(bank), ...change(bank) };
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

function lateWrite(bank: Bank): Partial<Bank> {
  return {
    write: async (chunk) => {
      setTimeout(() => void bank.write(chunk).catch(() => undefined), 5);
      return { sideEffects: [] };
    },
  };
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
