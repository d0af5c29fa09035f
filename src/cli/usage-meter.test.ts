/** Unknown usage and unknown prices are counted as unknown. */
import { expect, test } from 'vitest';
import { createUsageMeter, knownUsage, usageLines } from './usage-meter.ts';

test('usage and cost are sums of what was reported', () => {
  const meter = createUsageMeter();
  meter.add({
    outcome: { kind: 'ok' },
    usage: { promptTokens: 10, completionTokens: 2, costUsd: 0.5 },
  });
  meter.add({ outcome: { kind: 'ok' }, usage: { promptTokens: 1, completionTokens: 1 } });
  meter.add({ outcome: { kind: 'ok' } });
  meter.add({ outcome: { kind: 'fault', boundary: 'upstream', message: 'x' } });
  expect(meter.summary()).toEqual({
    calls: 4,
    faults: 1,
    promptTokens: 11,
    completionTokens: 3,
    callsWithoutUsage: 1,
    costUsd: 0.5,
  });
});

test('without a price the cost is unknown', () => {
  const meter = createUsageMeter();
  meter.add({ outcome: { kind: 'ok' }, usage: { promptTokens: 1, completionTokens: 1 } });
  expect(meter.summary().costUsd).toBeNull();
});

test('what no answer reported is absent, not 0', () => {
  const meter = createUsageMeter();
  meter.add({ outcome: { kind: 'ok' } });
  expect(knownUsage(meter.summary())).toEqual({ calls: 1, faults: 0, callsWithoutUsage: 1 });
  expect(usageLines(meter.summary())).toEqual([
    '1 calls, 0 of them faults; tokens unknown, cost unknown',
    '1 answers came without usage',
  ]);
});
