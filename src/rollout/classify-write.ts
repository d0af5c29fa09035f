/** What a write was: the policy's doing or the platform's (definitions §5). Silent failures 6 and 8 stop here. */
import type { Listing } from '../core/bank.ts';
import { FaultError, type PolicyErrorReason } from '../core/outcome.ts';
import type { CheckedCall, Stage, WriteEffect } from '../core/stage.ts';
import type { Call, ChunkWrite } from '../core/trace.ts';
import type { Harness, SideEffect } from '../harness/contract.ts';
import { compareWrite } from './verify-write.ts';

export interface WriteEvidence {
  readonly calls: readonly Call[];
  readonly before: Listing;
  readonly after: Listing;
  /** What the bank reports having done of its own accord. */
  readonly sideEffects: readonly SideEffect[];
  /** What `bank.write` rejected with, if it did. */
  readonly failure: FaultError | undefined;
}

export type WriteRules = Pick<Harness, 'stages' | 'requiredStages' | 'sideEffects' | 'effectOf'>;

/** The write's outcome. Throws a `FaultError` where the platform failed. */
export function classifyWrite(evidence: WriteEvidence, rules: WriteRules): ChunkWrite['outcome'] {
  const calls = evidence.calls.filter(({ purpose }) => purpose === 'write');
  for (const { outcome } of calls) {
    if (outcome.kind === 'fault') throw new FaultError(outcome.boundary, outcome.message);
  }
  const reasons = unrecoveredReasons(calls);
  if (reasons.length > 0) {
    if (evidence.failure !== undefined && !isFrameworksRefusal(evidence.failure)) {
      throw evidence.failure;
    }
    return { kind: 'policy-error', reasons };
  }
  if (evidence.failure !== undefined) throw evidence.failure;
  assertReached(calls, rules.requiredStages);
  assertDeclared(evidence.sideEffects, rules.sideEffects);
  assertStored(evidence, effectOf(calls, rules));
  const malformed = calls.filter(({ outcome }) => outcome.kind === 'policy-error').length;
  return { kind: 'ok', recoveredMalformed: calls.length === 0 ? 0 : malformed / calls.length };
}

/** Reasons of malformed calls that no later call repaired, each once, in order of appearance. */
function unrecoveredReasons(calls: readonly Call[]): PolicyErrorReason[] {
  const reasons = calls.flatMap((call, i) => {
    if (call.outcome.kind !== 'policy-error') return [];
    const repaired = calls.slice(i + 1).some((later) => isRepair(later, call));
    return repaired ? [] : call.outcome.reasons;
  });
  return [...new Set(reasons)];
}

/** The framework's own retry asks the same again, perhaps with the refusal appended. */
function isRepair(later: Call, malformed: Call): boolean {
  return (
    later.outcome.kind === 'ok' &&
    later.stage === malformed.stage &&
    malformed.messages.every(
      ({ role, content }, i) =>
        later.messages[i]?.role === role && later.messages[i]?.content === content,
    )
  );
}

/** A framework that throws on a malformed answer reports it as its own failure: it is still the policy's. */
function isFrameworksRefusal({ boundary }: FaultError): boolean {
  return boundary === 'harness';
}

function assertReached(calls: readonly Call[], requiredStages: readonly string[]): void {
  for (const stage of requiredStages) {
    if (!calls.some((call) => call.stage === stage)) {
      throw new FaultError('harness', `failed write: it never reached the model for "${stage}"`);
    }
  }
}

/** Without a rule of its own, a framework does what every single answer asks for. */
function effectOf(calls: readonly Call[], rules: WriteRules): WriteEffect {
  const checked = calls
    .filter(({ outcome }) => outcome.kind === 'ok')
    .map((call) => checkedCall(call, rules.stages));
  return rules.effectOf?.(checked) ?? { requests: checked, optional: [] };
}

function checkedCall(call: Call, stages: readonly Stage[]): CheckedCall {
  const { messages, text: answer } = call;
  const stage = stages.find(({ name }) => name === call.stage);
  if (stage === undefined) {
    throw new FaultError('gateway', `call ${call.id} is of unknown stage "${call.stage}"`);
  }
  const verdict = stage.check(answer, messages);
  if (verdict.kind === 'malformed') {
    throw new Error(`call ${call.id} was recorded as ok but is ${verdict.reasons.join(', ')}`);
  }
  const offered = stage.read(messages).existingMemories;
  return { stage: stage.name, answer, messages, operations: verdict.operations, offered };
}

function assertDeclared(found: readonly SideEffect[], declared: readonly string[]): void {
  const stray = found.find(({ name }) => !declared.includes(name));
  if (stray === undefined) return;
  throw new FaultError(
    'store',
    `failed write: undeclared side effect "${stray.name}", ${describe(stray.removed, 'removed')}, ${describe(stray.added, 'added')}`,
  );
}

function assertStored({ before, after, sideEffects }: WriteEvidence, effect: WriteEffect): void {
  const { missing, unrequested } = compareWrite({ before, after }, effect, sideEffects);
  if (missing.length === 0 && unrequested.length === 0) return;
  throw new FaultError(
    'store',
    `failed write: ${describe(missing, 'missing')}, ${describe(unrequested, 'not asked for')}`,
  );
}

function describe(texts: readonly string[], what: string): string {
  const [first] = texts;
  return first === undefined ? `none ${what}` : `${texts.length} ${what} (first: "${first}")`;
}
