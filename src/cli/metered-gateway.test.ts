/** Every call of a relay is metered once: taken, or left when its slot closes; other writers cost nothing. */
import { expect, test } from 'vitest';
import type { Gateway, Slot, Writer } from '../gateway/contract.ts';
import { aCall } from '../testing/trace-builders.ts';
import { meterRelays } from './metered-gateway.ts';
import { createUsageMeter } from './usage-meter.ts';

const endpoint = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'k', model: 'm' };
const relay: Writer = { kind: 'relay', endpoint, timeoutMs: 1 };
const scripted: Writer = { kind: 'scripted', reply: () => '' };

/** Two calls before the first take, one after it. */
function fakeGateway(): Gateway {
  const openSlot = (): Slot => {
    const takes = [[aCall(), aCall()], [aCall()]];
    return {
      model: endpoint,
      embeddings: { ...endpoint, dimensions: 1 },
      setPurpose: () => {},
      take: () => takes.shift() ?? [],
      [Symbol.asyncDispose]: async () => {},
    };
  };
  return {
    baseUrl: 'http://127.0.0.1:1',
    refusals: { count: 0, recent: [] },
    openSlot,
    [Symbol.asyncDispose]: async () => {},
  };
}

test.each([
  [relay, 3],
  [scripted, 0],
] as const)('calls of a $kind', async (writer, calls) => {
  const meter = createUsageMeter();
  const slot = meterRelays(fakeGateway(), meter).openSlot({ writer, stages: [], seed: 's' });
  expect(slot.take()).toHaveLength(2);
  await slot[Symbol.asyncDispose]();
  expect(meter.summary().calls).toBe(calls);
});
