/** The start weights learn from requests that no framework sent: those that each framework does send are the same. */
import { expect, test } from 'vitest';
import { clerkAnswer } from '../../recipes/pretrain/clerk-writer.ts';
import type { Kept, Scenery } from '../../recipes/pretrain/tasks/contract.ts';
import { everosBoundary, everosFacts, everosProfile } from '../../recipes/pretrain/tasks/everos.ts';
import { EXTRACTIONS } from '../../recipes/pretrain/tasks/tasks.ts';
import { BRIDGE_SPECS } from '../../src/cli/harnesses.ts';
import { Lab } from '../../src/conformance/lab.ts';
import type { ChatMessage } from '../../src/core/chat.ts';
import type { Scene } from '../../src/core/conversation.ts';
import type { Call } from '../../src/core/trace.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { createMem0Harness } from '../../src/harness/adapters/mem0/adapter.ts';
import { createBridgeHarness } from '../../src/harness/bridge/harness.ts';
import type { Harness } from '../../src/harness/contract.ts';
import { createRng } from '../../src/lib/rng.ts';
import { createHashEmbedder } from '../../src/llm/hash-embedder.ts';
import { createScratch } from '../../src/testing/scratch.ts';
import { CAREFUL, type ClerkMemory, clerkRecords, resolvable } from '../../src/world/clerk.ts';
import type { WorldUser } from '../../src/world/truth.ts';
import { createWorldUser } from '../../src/world/world.ts';
import { installedRuntime } from './support/installed-runtime.ts';

const SESSIONS = 4;
/** Merges whose request holds nothing that a search found. */
const CONSTANT = [everosBoundary, everosProfile, everosFacts];

test('mem0', async () => {
  await using harness = await createMem0Harness({ topK: 10 });
  await compare(harness, harness.scenes);
});

/** Its reader cuts a chunk into windows of its own, which the recipe does not make. */
const CUTS_WINDOWS = 'memos:simple';
/** It takes messages of tools out of a request that otherwise is the Node SDK's. */
const DROPS_TOOLS = 'mem0:2x';

for (const spec of BRIDGE_SPECS) {
  if (spec.configuration === CUTS_WINDOWS) continue;
  const runtime = await installedRuntime(spec.environment);
  test.skipIf(runtime === undefined)(spec.configuration, async () => {
    if (runtime === undefined) return;
    await using harness = createBridgeHarness(spec, runtime);
    await compare(harness, spec.configuration === DROPS_TOOLS ? ['chat'] : spec.scenes);
  });
}

/** A careful clerk writes a user's sessions; every answer is well formed, every request as the recipe would make it. */
async function compare(harness: Harness, scenes: readonly Scene[]): Promise<void> {
  for (const scene of scenes) {
    const user = createWorldUser({ seed: 5, scene, sessionsPerUser: SESSIONS }, 0);
    const calls = await writtenBy(harness, user);
    const kept: Kept[] = [];
    for (const [index, { at, messages }] of user.sessions.entries()) {
      const earlier = user.sessions.slice(0, index).map((session) => session.messages);
      const scenery: Scenery = { at, scene, messages, earlier, kept: [...kept] };
      const texts = kept.map(({ text }) => text);
      const truth = resolvable(user.truth[index] as WorldUser['truth'][number], texts);
      const told = clerkRecords(truth, CAREFUL, createRng('careful'));
      const drafts = clerkRecords(resolvable(truth, []), CAREFUL, createRng('careful'));
      for (const call of calls[index] ?? []) await expectSame(harness, { call, scenery, drafts });
      kept.push(...told.map((memory) => ({ ...memory, at })));
    }
  }
}

async function expectSame(
  harness: Harness,
  { call, scenery, drafts }: { call: Call; scenery: Scenery; drafts: readonly ClerkMemory[] },
): Promise<void> {
  const stage = harness.stages.find(({ name }) => name === call.stage);
  expect(stage?.check(call.text, call.messages).kind, call.text).toBe('well-formed');
  const task = [...EXTRACTIONS, ...CONSTANT].find(
    (candidate) => candidate.read(call.messages) !== undefined,
  );
  if (task === undefined) return;
  const expected = task.view(
    task.kind === 'extraction' ? await task.prompt(scenery) : await task.prompt(drafts, scenery),
  );
  expect(inNoOrder(stage?.view(call.messages) ?? [])).toEqual(inNoOrder(expected));
}

/** Of memories that are equally near, each search has an order of its own. */
function inNoOrder(view: readonly ChatMessage[]): string[] {
  const content = view.map((message) => message.content).join('\n');
  const existing = /(?<=<\|existing\|>)[\s\S]*?(?=<\|new\|>)/.exec(content)?.[0] ?? '';
  const texts = existing.split('\n').map((line) => line.replace(/^\d+ /, ''));
  return [content.replace(existing, ''), ...texts.sort()];
}

async function writtenBy(harness: Harness, user: WorldUser): Promise<Call[][]> {
  await using gateway = await createGateway({ embedder: createHashEmbedder() });
  await using scratch = await createScratch();
  const lab = new Lab({ harness, gateway, root: scratch.path, timeoutMs: 10_000 });
  await using open = await lab.open();
  const calls: Call[][] = [];
  for (const [index, session] of user.sessions.entries()) {
    const truth = user.truth[index] as WorldUser['truth'][number];
    const clerk = { style: CAREFUL, rng: createRng('careful') };
    open.script = (_stage, messages) => ({
      kind: 'text',
      text: clerkAnswer(messages, truth, clerk),
    });
    open.slot.setPurpose('write');
    const { id, ...rest } = session;
    await open.bank.write({ ...rest, id, sessionId: id, index, tokens: 1, oversized: false });
    calls.push([...open.slot.take()]);
  }
  return calls;
}
