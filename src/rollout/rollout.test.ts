/** Rollouts tell the policy's failures from the platform's, and never lose, cap or confuse a bank in silence. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WindowArtifact } from '../core/exam.ts';
import type { Gateway, Slot, Writer } from '../gateway/contract.ts';
import { createGateway } from '../gateway/gateway.ts';
import { createPool } from '../lib/pool.ts';
import { createMemoryHarness, type Misbehaviour, type Moment } from '../testing/memory-harness.ts';
import { sampleCall } from '../testing/sample-records.ts';
import { createScratch } from '../testing/scratch.ts';
import { toyEmbedder, toyTokenizer } from '../testing/toy-tokens.ts';
import { createToyWorld } from '../testing/toy-world.ts';
import { rollOutGroup } from './group.ts';
import { type FinishedRollout, rollOutWindow } from './rollout.ts';
import { ParentBankError, type RolloutParts, type RolloutTask } from './session.ts';

let gateway: Gateway;
let root = '';
beforeAll(async () => {
  gateway = await createGateway({ embedder: toyEmbedder });
  root = (await createScratch()).path;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
});

const keepAll: Writer = { kind: 'scripted', reply: () => 'keep 0\nkeep 1\nkeep 2' };
const [artifact] = createToyWorld({
  seed: 'rollout',
  users: 1,
  windowsPerUser: 1,
  chunksPerWindow: 3,
}) as [WindowArtifact];
const { window } = artifact;
const chunkIds = window.chunks.map(({ id }) => id);

let tasks = 0;
function task(change: Partial<RolloutTask> = {}): RolloutTask {
  return {
    window,
    sequence: 'ada/0',
    index: 0,
    parent: { kind: 'empty' },
    seed: 'seed',
    directory: join(root, `task-${tasks++}`),
    ...change,
  };
}

function parts(
  misbehave: (moment: Moment) => Misbehaviour | undefined = () => undefined,
  change: Partial<RolloutParts> = {},
): RolloutParts {
  const harness = createMemoryHarness({ misbehave });
  return { gateway, harness, writer: keepAll, countTokens: toyTokenizer.count, ...change };
}

/** Misbehaves in the write of chunk t, the given number of times. */
function inWrite(t: number, trouble: Misbehaviour, times = Number.POSITIVE_INFINITY) {
  let left = times;
  return ({ operation, chunkId }: Moment): Misbehaviour | undefined =>
    operation === 'write' && chunkId === chunkIds[t] && left-- > 0 ? trouble : undefined;
}

async function roll(p: RolloutParts, change: Partial<RolloutTask> = {}) {
  return await rollOutWindow(p, task(change), async (bank) => (await bank.list()).length);
}

function withoutTimes({ rollout }: FinishedRollout<unknown>): unknown {
  return JSON.parse(
    JSON.stringify(rollout, (key, value) => (key === 'durationMs' ? undefined : value)),
  );
}

test('a rollout records calls, operations, growth and content, chunk by chunk', async () => {
  const { rollout, final } = await roll(parts());
  expect(final).toBe(9);
  expect(rollout.outcome).toEqual({ kind: 'ok' });
  expect(rollout.writes_T.map(({ chunkId }) => chunkId)).toEqual(chunkIds);
  expect(rollout.writes_T.map(({ ops }) => ops.length)).toEqual([3, 3, 3]);
  expect(rollout.writes_T[1]?.tokensBefore).toBe(rollout.writes_T[0]?.tokensAfter);
  expect(rollout.bankTokens).toBe(rollout.writes_T[2]?.tokensAfter);
  expect(rollout.finalHash).toBe(rollout.writes_T[2]?.hashAfter);
});

test('equal rollouts are equal records although the framework names its memories at random', async () => {
  const [a, b] = [await roll(parts()), await roll(parts())];
  expect(withoutTimes(a)).toEqual(withoutTimes(b));
});

test.each([0, 1, 2])(
  'a platform fault in chunk %i restores the bank before it and tries again',
  async (t) => {
    const calm = await roll(parts());
    for (const trouble of ['crash', 'lose-write', 'wipe', 'no-call'] as const) {
      const shaken = await roll(parts(inWrite(t, trouble, 2)));
      expect(withoutTimes(shaken)).toEqual(withoutTimes(calm));
      expect((await readdir(root)).filter((name) => name.includes('replay'))).toEqual([]);
    }
  },
);

test('past the retries a platform fault is a fault at every chunk, with its boundary and no number', async () => {
  const { rollout, final } = await roll(parts(inWrite(1, 'crash')));
  expect(rollout.outcome).toEqual({
    kind: 'fault',
    boundary: 'harness',
    message: 'the framework died',
  });
  expect(rollout.writes_T).toEqual([]);
  expect(final).toBeUndefined();
});

test('a bank that cannot be opened is a fault of its rollout alone, and has the parent of its siblings', async () => {
  const broken = ({ operation, directory }: Moment) =>
    operation === 'open' && /1(\.replay)?$/.test(directory) ? ('crash' as const) : undefined;
  const pool = createPool(2);
  const group = { ...task({ directory: join(root, 'unopened') }), groupSize: 2 };
  const [own, lost] = await rollOutGroup({ ...parts(broken), pool }, group, async () => 'done');
  expect(own?.rollout.outcome.kind).toBe('ok');
  expect(lost?.rollout).toMatchObject({
    outcome: { kind: 'fault', boundary: 'harness', message: 'the framework does not start' },
    writes_T: [],
    parentHash: own?.rollout.parentHash,
  });
  const down = parts(({ operation }) => (operation === 'open' ? 'crash' : undefined));
  const none = await rollOutGroup(
    { ...down, pool },
    { ...group, directory: join(root, 'down') },
    async () => 'done',
  );
  expect(none.map(({ rollout }) => rollout.outcome.kind)).toEqual(['fault', 'fault']);
});

test('each chunk has the whole budget of retries: one that lands forgives its faults', async () => {
  const troubles = [inWrite(0, 'crash', 2), inWrite(1, 'crash', 2), inWrite(2, 'lose-write', 2)];
  const { rollout } = await roll(
    parts((moment) => troubles.map((trouble) => trouble(moment)).find((one) => one !== undefined)),
  );
  expect(rollout.outcome.kind).toBe('ok');
});

test('how often a chunk is tried again is a setting', async () => {
  const once = await roll(parts(inWrite(1, 'crash', 1), { maxRetries: 0 }));
  expect(once.rollout.outcome.kind).toBe('fault');
  const patient = await roll(parts(inWrite(1, 'crash', 5), { maxRetries: 5 }));
  expect(patient.rollout.outcome.kind).toBe('ok');
});

/** The gateway, but for what it hands over of the calls that a reading made. */
function whileReading(handOver: (take: Slot['take']) => ReturnType<Slot['take']>): Gateway {
  return {
    ...gateway,
    openSlot: (options) => {
      const slot = gateway.openSlot(options);
      const [take, setPurpose] = [slot.take.bind(slot), slot.setPurpose.bind(slot)];
      let purpose = 'write';
      slot.setPurpose = (next) => {
        purpose = next;
        setPurpose(next);
      };
      slot.take = () => (purpose === 'retrieve' ? handOver(take) : take());
      return slot;
    },
  };
}

test('a request that is still in flight after the exam is a platform fault, not the end of the run', async () => {
  let busy = 1;
  const reading = whileReading((take) => {
    if (busy-- > 0) throw new Error('1 request is still in flight');
    return take();
  });
  const told: string[] = [];
  const onRetry: RolloutParts['onRetry'] = ({ boundary }) => told.push(boundary);
  const { rollout } = await roll(parts(undefined, { gateway: reading, onRetry }));
  expect(rollout.outcome.kind).toBe('ok');
  expect(told).toEqual(['gateway']);
});

test('a question whose embedding failed is a fault, though the framework answered', async () => {
  const outcome = { kind: 'fault' as const, boundary: 'embedder' as const, message: 'no vector' };
  const failing = whileReading((take) => [
    ...take(),
    sampleCall({ purpose: 'retrieve', stage: 'embeddings', outcome }),
  ]);
  const { rollout } = await roll(parts(undefined, { gateway: failing, maxRetries: 0 }));
  expect(rollout.outcome).toMatchObject({ kind: 'fault', boundary: 'embedder' });
});

test.each([
  ['lose-write', 'store', /failed write: 3 missing/],
  ['wipe', 'store', /failed write: .* missing/],
  ['no-call', 'harness', /never reached the model/],
] as const)('silent failure 6: %s is no success', async (trouble, boundary, message) => {
  const { rollout } = await roll(parts(inWrite(2, trouble)));
  expect(rollout.outcome).toMatchObject({ kind: 'fault', boundary });
  expect(rollout.outcome).toHaveProperty('message', expect.stringMatching(message));
});

test('silent failure 5: a listing that stops at its first page is noticed as missing memories', async () => {
  const capped = ({ operation }: Moment) =>
    operation === 'list' ? ('cap-listing' as const) : undefined;
  const { rollout } = await roll(parts(capped));
  expect(rollout.outcome).toMatchObject({ kind: 'fault', boundary: 'store' });
});

test('silent failure 8: a malformed answer stays in the rollout although the framework calls it its own failure', async () => {
  const writer: Writer = { kind: 'scripted', reply: () => 'I would keep the first one.' };
  const { rollout, final } = await roll(parts(undefined, { writer }));
  expect(rollout.outcome).toEqual({ kind: 'ok' });
  expect(rollout.writes_T.map(({ outcome }) => outcome)).toEqual(
    chunkIds.map(() => ({ kind: 'policy-error', reasons: ['unparsable'] })),
  );
  expect(final).toBe(0);
});

test('silent failure 7: a request with another rollout’s address is refused, and neither record holds it', async () => {
  // Which of the two opens first is a race; the other one is misdirected.
  const misdirected = ({ operation }: Moment) =>
    operation === 'write' ? ('wrong-slot' as const) : undefined;
  const pool = createPool(2);
  const finished = await rollOutGroup(
    { ...parts(misdirected), pool },
    { ...task(), groupSize: 2 },
    async () => 'done',
  );
  const own = finished.filter(({ rollout }) => rollout.outcome.kind === 'ok');
  expect(own.map(({ rollout }) => rollout.writes_T.map(({ calls }) => calls.length))).toEqual([
    [1, 1, 1],
  ]);
  const lost = finished.filter(({ rollout }) => rollout.outcome.kind === 'fault');
  expect(lost).toHaveLength(1);
});

test('silent failure 1: a bank that is on disk but not in the framework stops the run', async () => {
  const first = await roll(parts());
  const parent = {
    kind: 'bank' as const,
    directory: first.directory,
    hash: first.rollout.finalHash,
  };
  const carried = await roll(parts(), {
    parent,
    window: { ...window, chunks: window.chunks.slice(0, 1) },
  });
  expect(carried.rollout.parentHash).toBe(first.rollout.finalHash);
  const forgetful = parts(({ operation }) => (operation === 'open' ? 'forget-parent' : undefined));
  await expect(roll(forgetful, { parent })).rejects.toThrow(ParentBankError);
  await expect(roll(forgetful, { parent })).rejects.toThrow('bank not carried over');
});

test('BR-51: memories that an earlier run left in a new bank stop the run', async () => {
  const shared = parts(({ operation }) => (operation === 'open' ? 'left-over' : undefined));
  await expect(roll(shared)).rejects.toThrow('left-over memories');
});

test('a fault that is tried again is told, though the rollout does not show it', async () => {
  const told: string[] = [];
  const onRetry: RolloutParts['onRetry'] = ({ message }) => told.push(message);
  const { rollout } = await roll(parts(inWrite(1, 'crash', 2), { onRetry }));
  expect(rollout.outcome.kind).toBe('ok');
  expect(told).toEqual(['the framework died', 'the framework died']);
});

test('reading that writes is a fault of the retriever', async () => {
  const { rollout } = await rollOutWindow(
    parts(({ operation }) => (operation === 'retrieve' ? 'store-question' : undefined)),
    task(),
    (bank) => bank.retrieve('what?'),
  );
  expect(rollout.outcome).toMatchObject({ kind: 'fault', boundary: 'retriever' });
});

test('an abort lets the write in hand finish and starts no other', async () => {
  const controller = new AbortController();
  const written: string[] = [];
  const aborting = ({ operation, chunkId }: Moment) => {
    if (operation === 'write' && chunkId !== undefined) written.push(chunkId);
    if (written.length === 2) controller.abort(new Error('stop'));
    return undefined;
  };
  const signal = controller.signal;
  await expect(roll(parts(aborting, { signal }))).rejects.toThrow('stop');
  expect(written).toEqual(chunkIds.slice(0, 2));
});

test('BR-35: eight rollouts of one parent write at once, each in its own directory', async () => {
  const finished_G = await rollOutGroup(
    { ...parts(), pool: createPool(8) },
    { ...task(), groupSize: 8 },
    (bank) => bank.list(),
  );
  expect(new Set(finished_G.map(({ directory }) => directory)).size).toBe(8);
  expect(finished_G.map(({ final }) => final?.length)).toEqual(Array(8).fill(9));
  expect(new Set(finished_G.map(({ rollout }) => rollout.parentHash)).size).toBe(1);
});
