/** Unknown usage and unknown prices are counted as unknown. */
import { expect, test } from 'vitest';
import { createUsageMeter } from './usage-meter.ts';

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
