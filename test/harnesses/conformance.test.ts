/** Installed frameworks hold what the contract asks of them, and no failure of any stage passes for a success. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BRIDGE_SPECS } from '../../src/cli/harnesses.ts';
import { checkHarness } from '../../src/conformance/check.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { createMem0Harness } from '../../src/harness/adapters/mem0/adapter.ts';
import { createBridgeHarness } from '../../src/harness/bridge/harness.ts';
import type { Harness } from '../../src/harness/contract.ts';
import { createHashEmbedder } from '../../src/llm/hash-embedder.ts';
import { createScratch } from '../../src/testing/scratch.ts';
import { installedRuntime } from './support/installed-runtime.ts';

/** Past the smallest cap of a listing; the certificates in docs/harnesses.md go to 1,000. */
const MEMORIES = 21;

let root = '';
beforeAll(async () => {
  root = (await createScratch()).path;
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

test('mem0', async () => {
  await assertHolds(await createMem0Harness());
});

/**
 * One of each kind, in a few minutes: two calls that decide, and four stages with tool turns. The others, EverOS with its
 * own long waits above all, are `memwriter harness check`'s: its certificates are in docs/harnesses.md.
 */
const SPECS = BRIDGE_SPECS.filter(({ configuration }) =>
  ['mem0:1x', 'hy-memory:working'].includes(configuration),
);

for (const spec of SPECS) {
  const runtime = await installedRuntime(spec.environment);
  test.skipIf(runtime === undefined)(spec.configuration, async () => {
    if (runtime !== undefined) await assertHolds(createBridgeHarness(spec, runtime));
  });
}

async function assertHolds(created: Harness): Promise<void> {
  await using harness = created;
  const retry = { attempts: 1, baseDelayMs: 1, maxDelayMs: 1, maxRetryAfterMs: 1 };
  await using gateway = await createGateway({ embedder: createHashEmbedder(), retry });
  const directory = join(root, harness.configuration.replace(':', '-'));
  const certificate = await checkHarness({
    harness,
    gateway,
    root: directory,
    memories: MEMORIES,
  });
  const broken = certificate.obligations.filter(({ status }) => status === 'violated');
  expect(broken).toEqual([]);
}
