/** What every kind of writer is given and what it must hand back: the shared shape of render, relay and scripted. */
import type { ChatMessage } from '../core/chat.ts';
import { OK, type Outcome } from '../core/outcome.ts';
import type { Stage } from '../core/stage.ts';
import type { Call } from '../core/trace.ts';
import type { ChatRequest } from '../llm/wire.ts';
import type { Sink } from './broadcast.ts';

/** A chat request that was read and recognised. */
export interface Arrival {
  /** As the framework sent it, every field. */
  readonly request: ChatRequest;
  readonly messages: readonly ChatMessage[];
  /** Absent only in a relay without stages. */
  readonly stage: Stage | undefined;
}

export interface AnswerContext {
  /** The call's id within its slot. */
  readonly callId: string;
  /** The request as it came in. */
  readonly body: Buffer;
  readonly signal: AbortSignal;
  readonly sink: Sink;
  /** The sampling seed of a prompt: the same whatever else is in flight. */
  seedFor(promptIds: readonly number[]): string;
}

export type Recorded = Pick<Call, 'text' | 'stopReason' | 'outcome' | 'segment' | 'usage'>;

/** Writes the response into the sink, then resolves with the record. A `FaultError` leaves the response to the caller. */
export type Answerer = (arrival: Arrival, context: AnswerContext) => Promise<Recorded>;

const BLANK = /^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/** Definitions §5: what an answer is worth before any harness has seen it. */
export function judgeAnswer(
  arrival: Arrival,
  text: string,
  stopReason: 'stop' | 'length',
): Outcome {
  if (stopReason === 'length') return { kind: 'policy-error', reasons: ['truncated'] };
  if (BLANK.test(text)) return { kind: 'policy-error', reasons: ['empty-completion'] };
  if (arrival.stage === undefined) return OK;
  const verdict = arrival.stage.check(text, arrival.messages);
  if (verdict.kind === 'well-formed') return OK;
  return { kind: 'policy-error', reasons: [...verdict.reasons] };
}
