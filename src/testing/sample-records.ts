/** Small valid records for tests of code that stores, schedules or reports them. */
import type { Call, CreditedRollout } from '../core/trace.ts';

export function sampleCall(change: Partial<Call> = {}): Call {
  return {
    id: '0',
    purpose: 'write',
    stage: 'extract',
    messages: [{ role: 'user', content: 'hello' }],
    text: 'keep 0',
    stopReason: 'stop',
    segment: { promptIds: [1, 2], sampledIds: [3], logprobs: [-0.5], policyVersion: 0 },
    outcome: { kind: 'ok' },
    durationMs: 12,
    ...change,
  };
}

export function sampleRollout(change: Partial<CreditedRollout> = {}): CreditedRollout {
  return {
    windowId: 'w0',
    configuration: 'memory',
    sequence: 'ada/0',
    index: 0,
    parentHash: 'empty',
    writes_T: [
      {
        chunkId: 'c0',
        calls: [sampleCall()],
        ops: [{ kind: 'add', id: 'm0', text: 'hello' }],
        tokensBefore: 0,
        tokensAfter: 1,
        chunkTokens: 1,
        hashAfter: 'b0',
        outcome: { kind: 'ok', recoveredMalformed: 0 },
      },
    ],
    finalHash: 'b0',
    bankTokens: 1,
    outcome: { kind: 'ok' },
    results: [],
    scores_T: [{ pen: 0, malformed: 0, voidedTerms: [], score: 0.5 }],
    total: 0.5,
    advantages_T: [0],
    ...change,
  };
}
