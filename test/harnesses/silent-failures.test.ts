/** The article's silent failures, injected into the live frameworks that are trained on: each is caught, and laid at the right door. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clerkAnswer } from '../../recipes/pretrain/clerk-writer.ts';
import { BRIDGE_SPECS } from '../../src/cli/harnesses.ts';
import type { Chunk, Window } from '../../src/core/conversation.ts';
import type { Rollout } from '../../src/core/trace.ts';
import { trainedSegments } from '../../src/credit/segments.ts';
import { windowsOf } from '../../src/data/windows.ts';
import { createLocalEngine } from '../../src/engine/local/engine.ts';
import { loadPolicy } from '../../src/engine/local/policy-directory.ts';
import type { Gateway, Writer } from '../../src/gateway/contract.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { createMem0Harness } from '../../src/harness/adapters/mem0/adapter.ts';
import { createBridgeHarness } from '../../src/harness/bridge/harness.ts';
import type { Bank, Harness, OpenOptions } from '../../src/harness/contract.ts';
import { createPool } from '../../src/lib/pool.ts';
import { createRng } from '../../src/lib/rng.ts';
import { createHashEmbedder } from '../../src/llm/hash-embedder.ts';
import { rollOutGroup } from '../../src/rollout/group.ts';
import { type FinishedRollout, rollOutWindow } from '../../src/rollout/rollout.ts';
import type { Parent, RolloutParts } from '../../src/rollout/session.ts';
import { createScratch } from '../../src/testing/scratch.ts';
import { loadPromptTemplate } from '../../src/tokens/template.ts';
import { assertAllPresent } from '../../src/train/admit.ts';
import { CAREFUL } from '../../src/world/clerk.ts';
import type { SessionTruth } from '../../src/world/truth.ts';
import { createWorldUser } from '../../src/world/world.ts';
import { installedRuntime } from './support/installed-runtime.ts';

const TRAINED = ['mem0', 'memos', 'hy-memory:chat', 'hy-memory:working', 'hy-memory:coding'];
const POLICY = 'models/base';

let gateway: Gateway;
let scratch: Awaited<ReturnType<typeof createScratch>>;
beforeAll(async () => {
  gateway = await createGateway({ embedder: createHashEmbedder() });
  scratch = await createScratch();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await scratch[Symbol.asyncDispose]();
});

for (const configuration of TRAINED) {
  const spec = BRIDGE_SPECS.find((candidate) => candidate.configuration === configuration);
  const runtime = spec && (await installedRuntime(spec.environment));
  describe.skipIf(spec !== undefined && runtime === undefined)(configuration, () => {
    let harness: Harness;
    beforeAll(async () => {
      harness =
        spec && runtime
          ? createBridgeHarness(spec, runtime)
          : await createMem0Harness({ topK: 10 });
    });
    afterAll(async () => {
      await harness[Symbol.asyncDispose]();
    });
    injectInto(() => harness);
  });
}

function injectInto(live: () => Harness): void {
  test('as it is, every write succeeds', async () => {
    const { rollout } = await roll(live());
    expect(rollout.outcome).toEqual({ kind: 'ok' });
    expect(rollout.writes_T.map(({ outcome }) => outcome.kind)).toEqual(['ok', 'ok']);
  });

  test('1: a bank that is not carried over to the next window stops the run', async () => {
    const { rollout, directory } = await roll(live());
    const parent: Parent = { kind: 'bank', directory, hash: rollout.finalHash };
    const forgetful = opening(live(), async (options) => {
      const dir = `${options.dir}-elsewhere`;
      await mkdir(dir);
      return await live().open({ ...options, dir });
    });
    await expect(roll(forgetful, { parent })).rejects.toThrow('bank not carried over');
  });

  test('3: a call without its segment stops the step by name', async () => {
    await using engine = createLocalEngine(await loadPolicy(POLICY), {
      threads: 1,
      warn: (text) => process.stderr.write(text),
    });
    const template = await loadPromptTemplate(POLICY);
    const writer: Writer = { kind: 'render', engine, template, maxTokens: 64, temperature: 1 };
    const { rollout } = await roll(live(), { writer });
    expect(trainedSegments([rollout]).length).toBeGreaterThanOrEqual(rollout.writes_T.length);
    expect(() => trainedSegments([withoutSegments(rollout)])).toThrow(
      'missing chunk-to-segment map',
    );
  });

  test('4: planned and without records, it stops the run by name', async () => {
    const { rollout } = await roll(live());
    const { configuration, sequence } = rollout;
    const planned = {
      configuration,
      sequence,
      artifact: { window: windowOf(live()), probes: [], questions: [] },
      windowIndex: 0,
      attempt: 0,
      parentHash: undefined,
    };
    expect(() => assertAllPresent([planned], [rollout], 1)).not.toThrow();
    expect(() => assertAllPresent([planned], [], 1)).toThrow(`"${configuration}" was planned`);
  });

  test('5: a capped listing is a fault of the store', async () => {
    const capped = opening(live(), async (options) => {
      const bank = await live().open(options);
      return proxy(bank, { list: async () => (await bank.list()).slice(0, 1) });
    });
    const { rollout } = await roll(capped);
    expect(rollout.outcome).toMatchObject({ kind: 'fault', boundary: 'store' });
  });

  test('6: a write after which the bank is empty is a fault of the store, not a success', async () => {
    const { rollout } = await roll(opening(live(), (options) => losing(live(), options)));
    expect(rollout.outcome).toMatchObject({ kind: 'fault', boundary: 'store' });
    expect(rollout.outcome).toHaveProperty('message', expect.stringContaining('failed write'));
  });

  test('7: a request on another rollout’s address is refused and attached to none', async () => {
    const before = gateway.refusals.count;
    let first: OpenOptions['model'] | undefined;
    const misdirected = opening(live(), async (options) => {
      const { baseUrl } = first ?? options.model;
      first ??= options.model;
      return await live().open({ ...options, model: { ...options.model, baseUrl } });
    });
    const finished = await rollOutGroup(
      { ...partsOf(misdirected), pool: createPool(2), maxRetries: 0 },
      { ...taskOf(live()), groupSize: 2 },
      async () => 'done',
    );
    expect(gateway.refusals.count).toBeGreaterThan(before);
    const outcomes = finished.map(({ rollout }) => rollout.outcome.kind).sort();
    expect(outcomes).toEqual(['fault', 'ok']);
    const own = finished.find(({ rollout }) => rollout.outcome.kind === 'ok');
    const alone = await roll(live());
    expect(callsOf(own?.rollout)).toEqual(callsOf(alone.rollout));
  });

  test('8: a format error is the policy’s bad action, and stays in the rollout', async () => {
    const writer: Writer = { kind: 'scripted', reply: () => 'I would keep the first one.' };
    const { rollout } = await roll(live(), { writer });
    expect(rollout.outcome).toEqual({ kind: 'ok' });
    expect(rollout.writes_T.map(({ outcome }) => outcome)).toEqual([
      { kind: 'policy-error', reasons: ['unparsable'] },
      { kind: 'policy-error', reasons: ['unparsable'] },
    ]);
  });

  test.each(['first', 'later'] as const)(
    '8: a null where a memory belongs is too, in the %s of its stages',
    async (stages) => {
      const { rollout } = await roll(live(), { writer: withNull(live(), stages) });
      expect(rollout.outcome).toEqual({ kind: 'ok' });
      const malformed = rollout.writes_T.map(({ outcome }) => outcome.kind === 'policy-error');
      const asked = rollout.writes_T.map(
        ({ calls }) => (stages === 'first' ? calls.length : calls.length - 1) > 0,
      );
      expect(malformed).toEqual(asked);
    },
  );
}

/** Of the first stage, or of those after it: whichever the framework comes to. */
const TEXT = /"(text|content|value|solution|statement)":"[^"]*"/;
const DECISION = /"(op|event|action)":"[^"]*"/;
const ADD_NOTHING = '[{"op":"ADD","content":null,"owner":"user","tags":["note"]}]';

function withNull(harness: Harness, stages: 'first' | 'later'): Writer {
  const [first] = harness.requiredStages;
  const clerk = partsOf(harness).writer;
  if (clerk.kind !== 'scripted') throw new Error('the clerk is a script');
  return {
    kind: 'scripted',
    reply: (stage, messages) => {
      const answer = clerk.reply(stage, messages);
      if ((stage.name === first) !== (stages === 'first')) return answer;
      if (answer === '[]') return ADD_NOTHING;
      return answer.replace(TEXT.test(answer) ? TEXT : DECISION, '"$1":null');
    },
  };
}

function opening(harness: Harness, open: Harness['open']): Harness {
  return proxy(harness, { open });
}

/** Methods of the original keep their object: theirs has private fields. */
function proxy<T extends object>(original: T, changes: Partial<T>): T {
  return new Proxy(original, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in changes ? changes : target, name);
      return typeof value === 'function' && !(name in changes) ? value.bind(target) : value;
    },
  });
}

/** From its first write on the framework works on another, empty bank, and says nothing. */
async function losing(harness: Harness, options: OpenOptions): Promise<Bank> {
  const bank = await harness.open(options);
  const dir = `${options.dir}-empty`;
  await mkdir(dir);
  const empty = await harness.open({ ...options, dir });
  let current = bank;
  return proxy(bank, {
    list: async () => await current.list(),
    write: async (chunk) => {
      const report = await bank.write(chunk);
      current = empty;
      return report;
    },
    [Symbol.asyncDispose]: async () => {
      await empty[Symbol.asyncDispose]();
      await bank[Symbol.asyncDispose]();
    },
  });
}

interface Roll {
  readonly parent?: Parent;
  readonly writer?: Writer;
}

let rolls = 0;

async function roll(harness: Harness, how: Roll = {}): Promise<FinishedRollout<string>> {
  const { parent, writer } = how;
  const parts = { ...partsOf(harness), ...(writer && { writer }), maxRetries: 0 };
  const task = { ...taskOf(harness), index: 0, ...(parent && { parent }) };
  return await rollOutWindow(parts, task, async () => 'done');
}

/** A careful clerk writes. */
function partsOf(harness: Harness): RolloutParts {
  const truth = userOf(harness).truth[0] as SessionTruth;
  return {
    gateway,
    harness,
    countTokens: (text) => text.split(' ').length,
    writer: {
      kind: 'scripted',
      // Every chunk is answered with the same memories: what they say does not matter here.
      reply: (_stage, messages) =>
        clerkAnswer(messages, truth, { style: CAREFUL, rng: createRng('careful') }),
    },
  };
}

function taskOf(harness: Harness) {
  return {
    window: windowOf(harness),
    sequence: 'ada/0',
    parent: { kind: 'empty' as const },
    seed: 's',
    directory: join(scratch.path, `rollout-${rolls++}`),
  };
}

function userOf({ scenes }: Harness) {
  const [scene = 'chat'] = scenes;
  return createWorldUser({ seed: 5, scene, sessionsPerUser: 2 }, 0);
}

function windowOf(harness: Harness): Window {
  const chunks = userOf(harness).sessions.map(
    ({ id, ...session }, index): Chunk => ({
      ...session,
      id,
      sessionId: id,
      index,
      tokens: 1,
      oversized: false,
    }),
  );
  return windowsOf(chunks)[0] as Window;
}

function withoutSegments(rollout: Rollout): Rollout {
  return {
    ...rollout,
    writes_T: rollout.writes_T.map((write) => ({
      ...write,
      calls: write.calls.map(({ segment: _, ...call }) => call),
    })),
  };
}

function callsOf(rollout: Rollout | undefined): number[] | undefined {
  return rollout?.writes_T.map(({ calls }) => calls.length);
}
