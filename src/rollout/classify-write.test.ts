/** Whose doing a write was: what the framework recovered, what it did not, and what the platform lost. */
import { describe, expect, test } from 'vitest';
import type { ChatMessage } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import type { Call } from '../core/trace.ts';
import { keepStage, renderKeepRequest } from '../testing/keep-stage.ts';
import { aCall, aFault } from '../testing/trace-builders.ts';
import { classifyWrite, type WriteEvidence, type WriteRules } from './classify-write.ts';

const rules: WriteRules = {
  stages: [keepStage],
  requiredStages: [keepStage.name],
  sideEffects: ['shadowed'],
};
const request = renderKeepRequest(['user: pin is 4471'], []);
const stored = [{ id: 'random', text: 'user: pin is 4471', store: 'memory' }];
const bad = { outcome: { kind: 'policy-error' as const, reasons: ['unparsable' as const] } };

function call(overrides: Partial<Call> = {}): Call {
  return aCall({ stage: keepStage.name, messages: request, text: 'keep 0', ...overrides });
}

function classify(calls: Call[], evidence: Partial<WriteEvidence> = {}) {
  return classifyWrite(
    { calls, before: [], after: stored, sideEffects: [], failure: undefined, ...evidence },
    rules,
  );
}

describe('a malformed answer', () => {
  const refusal: ChatMessage[] = [
    ...request,
    { role: 'assistant', content: 'hm' },
    { role: 'user', content: 'That was not valid. Again.' },
  ];

  test('is recovered where the framework asks the same again, perhaps with the refusal appended', () => {
    expect(classify([call(bad), call()])).toEqual({ kind: 'ok', recoveredMalformed: 0.5 });
    const insisting = [call(bad), call({ ...bad, messages: refusal }), call({ messages: refusal })];
    expect(classify(insisting)).toEqual({ kind: 'ok', recoveredMalformed: 2 / 3 });
  });

  test.each([
    ['nothing follows, though a good answer came before', []],
    ['another question follows', [call({ messages: renderKeepRequest(['user: x'], []) })]],
    ['another stage follows', [call({ stage: 'update' })]],
    ['the repetition is malformed too', [call(bad)]],
  ])('is not recovered where %s', (_name, later) => {
    expect(classify([call(), call(bad), ...later])).toEqual({
      kind: 'policy-error',
      reasons: ['unparsable'],
    });
  });

  test('stays the policy’s though the framework reports a failure of its own; a dead store is the store’s', () => {
    const refused = new FaultError('harness', 'cannot parse');
    expect(classify([call(bad)], { failure: refused }).kind).toBe('policy-error');
    const dead = new FaultError('store', 'disk full');
    expect(() => classify([call(bad)], { failure: dead })).toThrow('disk full');
  });
});

test('what was read is no part of the write, malformed or not', () => {
  const reading = call({ ...bad, purpose: 'retrieve' });
  expect(classify([call(), reading])).toEqual({ kind: 'ok', recoveredMalformed: 0 });
  expect(() => classify([{ ...call(), purpose: 'retrieve' }])).toThrow('never reached the model');
});

test.each([
  [
    'a fault of any call',
    () => classify([call({ outcome: aFault('upstream') }), call()]),
    'HTTP 503',
  ],
  ['a memory that is not there', () => classify([call()], { after: [] }), '1 missing'],
  [
    'a memory that nobody asked for',
    () => classify([call()], { after: [...stored, { id: 'x', text: 'else', store: 'memory' }] }),
    '1 not asked for',
  ],
  [
    'a failure without a malformed call',
    () => classify([call()], { failure: new FaultError('harness', 'dead') }),
    'dead',
  ],
])('%s is the platform’s fault', (_name, run, message) => {
  expect(run).toThrow(FaultError);
  expect(run).toThrow(message);
});

describe('what no answer asked for', () => {
  const old = { id: 'old', text: 'pin: 4471', store: 'memory' };
  const change = {
    before: [old],
    sideEffects: [{ name: 'shadowed', removed: [old.text], added: [] }],
  };

  test('is accepted under a name that the harness declares, and only as far as reported', () => {
    expect(classify([call()], change).kind).toBe('ok');
    expect(() => classify([call()], { before: [old] })).toThrow('1 missing');
    expect(() => classify([call()], { ...change, after: [...stored, old] })).toThrow(
      '1 not asked for',
    );
  });

  test('is a fault under any other name', () => {
    const sideEffects = [{ name: 'tidied', removed: [old.text], added: [] }];
    expect(() => classify([call()], { before: [old], sideEffects })).toThrow(
      'undeclared side effect "tidied"',
    );
  });
});

test('a framework of several stages stores what its own rule says, and may leave out what it calls optional', () => {
  const twoStages: WriteRules = {
    ...rules,
    effectOf: (calls) => ({ requests: calls.slice(-1), optional: ['user: near copy'] }),
  };
  const draft = call({ text: 'note a draft' });
  const judge = (after: WriteEvidence['after']) =>
    classifyWrite(
      { calls: [draft, call()], before: [], after, sideEffects: [], failure: undefined },
      twoStages,
    );
  expect(judge(stored).kind).toBe('ok');
  expect(judge([...stored, { id: 'n', text: 'user: near copy', store: 'memory' }]).kind).toBe('ok');
  expect(() => judge([{ id: 'd', text: 'a draft', store: 'memory' }])).toThrow('1 missing');
});
