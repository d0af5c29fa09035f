/** Every framework as it is installed from its lock opens an empty bank, without the network. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BRIDGE_SPECS } from '../../src/cli/harnesses.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { createBridgeHarness } from '../../src/harness/bridge/harness.ts';
import { createHashEmbedder } from '../../src/llm/hash-embedder.ts';
import { createScratch } from '../../src/testing/scratch.ts';
import { installedRuntime } from './support/installed-runtime.ts';

let root = '';
beforeAll(async () => {
  root = (await createScratch()).path;
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

for (const spec of BRIDGE_SPECS) {
  const runtime = await installedRuntime(spec.environment);
  test.skipIf(runtime === undefined)(spec.configuration, async () => {
    if (runtime === undefined) return;
    await using gateway = await createGateway({ embedder: createHashEmbedder() });
    await using harness = createBridgeHarness(spec, runtime);
    const { model, embeddings } = gateway.openSlot({
      writer: { kind: 'scripted', reply: () => '' },
      stages: harness.stages,
      seed: spec.configuration,
    });
    const dir = join(root, spec.configuration.replace(':', '-'));
    const now = '2024-01-01T00:00:00Z';
    await using bank = await harness.open({ dir, model, embeddings, now });
    expect(await bank.list()).toEqual([]);
  });
}
