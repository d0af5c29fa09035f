/** The life of one chat request: joined to the call it repeats, or read, answered and recorded once. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ChatMessage } from '../core/chat.ts';
import { boundary, type Fault, FaultError } from '../core/outcome.ts';
import type { Clock } from '../lib/clock.ts';
import { errorBody } from '../llm/wire.ts';
import type { Answerer, Recorded } from './answer.ts';
import type { Broadcast } from './broadcast.ts';
import { JSON_TYPE } from './emit.ts';
import type { LogicalCall } from './logical-call.ts';
import { type BadRequest, readBody, readChatRequest, stageName } from './read-request.ts';
import type { GatewaySlot } from './slot.ts';

export interface ChatRoute {
  readonly clock: Clock;
  answererOf(slot: GatewaySlot): Answerer;
}

export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export type Received = 'answering' | 'too-large' | 'closed';

/** Resolves when the request is taken in; the answer goes to `outgoing` by itself. */
export async function receiveChat(
  slot: GatewaySlot,
  route: ChatRoute,
  { incoming, outgoing }: Exchange,
): Promise<Received> {
  const body = await slot.track(readBody(incoming, slot.signal));
  if (body === undefined) {
    const outcome: Fault = {
      kind: 'fault',
      boundary: 'gateway',
      message: 'the request body is too large',
    };
    slot.recordFault({ purpose: slot.purpose, stage: 'unknown', outcome, durationMs: 0 });
    return 'too-large';
  }
  if (slot.signal.aborted) return 'closed';
  const repeated = slot.ledger.find(body, saysRetry(incoming));
  const logical = repeated ?? slot.ledger.open(body, slot.purpose);
  logical.broadcast.attach(outgoing);
  if (repeated === undefined) void slot.track(answerOnce(slot, route, { logical, body }));
  return 'answering';
}

/** OpenAI's SDKs (Stainless) count their retries in this header. */
function saysRetry(incoming: IncomingMessage): boolean {
  return Number(incoming.headers['x-stainless-retry-count']) >= 1;
}

interface Opened {
  readonly logical: LogicalCall;
  readonly body: Buffer;
}

interface RequestPart {
  readonly stage: string;
  readonly messages: readonly ChatMessage[];
}

/** Never rejects: whatever happens is in the record. */
async function answerOnce(
  slot: GatewaySlot,
  route: ChatRoute,
  { logical, body }: Opened,
): Promise<void> {
  const startedMs = route.clock.nowMs();
  const record = (part: RequestPart, recorded: Recorded): void => {
    slot.record(logical, {
      id: logical.id,
      purpose: logical.purpose,
      stage: part.stage,
      messages: [...part.messages],
      ...recorded,
      durationMs: route.clock.nowMs() - startedMs,
    });
  };
  const read = await recordingFaults(logical.broadcast, () => readChatRequest(body, slot.options));
  if ('outcome' in read) return record({ stage: 'unknown', messages: [] }, read);
  if (read.kind === 'bad') {
    return record({ stage: 'unknown', messages: read.messages }, refuse(logical.broadcast, read));
  }
  const { arrival } = read;
  const recorded = await recordingFaults(logical.broadcast, () =>
    route.answererOf(slot)(arrival, {
      body,
      callId: logical.id,
      signal: slot.signal,
      sink: logical.broadcast,
      seedFor: (promptIds) => slot.seedFor(logical.purpose, promptIds),
    }),
  );
  record({ stage: stageName(arrival.stage), messages: arrival.messages }, recorded);
}

function refuse(broadcast: Broadcast, bad: BadRequest): Recorded {
  broadcast.complete(400, JSON_TYPE, errorBody(bad.message, bad.code, bad.param));
  return faulty({ kind: 'fault', boundary: 'gateway', message: bad.message });
}

async function recordingFaults<T>(
  broadcast: Broadcast,
  run: () => Promise<T> | T,
): Promise<T | Recorded> {
  try {
    return await boundary('gateway', run);
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    const fault = error.toFault();
    if (broadcast.begun) broadcast.cut();
    else
      broadcast.complete(
        statusOf(fault),
        JSON_TYPE,
        errorBody(fault.message, `${fault.boundary}_fault`),
      );
    return faulty(fault);
  }
}

/**
 * The engine's failure is a plain 500: an SDK's retries of it replay this record. Every other fault is a 400, which
 * SDKs do not repeat: our own retry loop has already done all that is of use.
 */
function statusOf(fault: Fault): number {
  return fault.boundary === 'policy-engine' ? 500 : 400;
}

function faulty(outcome: Fault): Recorded {
  return { text: '', stopReason: 'error', outcome };
}
