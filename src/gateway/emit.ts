/** Our own chat answers on the wire, whole or as events. */
import { SSE_DONE, sseEvent } from '../llm/sse.ts';
import { type EmittedCompletion, type EmittedUsage, errorBody } from '../llm/wire.ts';
import type { AnswerContext, Arrival } from './answer.ts';

export const JSON_TYPE = 'application/json';
const SSE_TYPE = 'text/event-stream; charset=utf-8';

export interface OwnAnswer {
  readonly text: string;
  readonly finishReason: 'stop' | 'length';
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export function emitAnswer(arrival: Arrival, context: AnswerContext, answer: OwnAnswer): void {
  const { request } = arrival;
  if (request.stream === true) {
    context.sink.complete(200, SSE_TYPE, eventsOf(arrival, context.callId, answer));
    return;
  }
  const completion: EmittedCompletion = {
    id: `chatcmpl-${context.callId}`,
    object: 'chat.completion',
    created: 0,
    model: request.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer.text, refusal: null },
        logprobs: null,
        finish_reason: answer.finishReason,
      },
    ],
    usage: usageOf(answer),
  };
  context.sink.complete(200, JSON_TYPE, JSON.stringify(completion));
}

function eventsOf(arrival: Arrival, callId: string, answer: OwnAnswer): string {
  const { request } = arrival;
  const head = {
    id: `chatcmpl-${callId}`,
    object: 'chat.completion.chunk',
    created: 0,
    model: request.model,
  };
  const event = (delta: object, finish_reason: string | null): string =>
    sseEvent({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
  const events = [
    event({ role: 'assistant', content: '' }, null),
    event({ content: answer.text }, null),
    event({}, answer.finishReason),
  ];
  if (request.stream_options?.include_usage === true) {
    events.push(sseEvent({ ...head, choices: [], usage: usageOf(answer) }));
  }
  return events.join('') + SSE_DONE;
}

function usageOf({ promptTokens, completionTokens }: OwnAnswer): EmittedUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

export function emitOverflow(context: AnswerContext, message: string): void {
  const body = errorBody(message, 'context_length_exceeded', 'messages');
  context.sink.complete(400, JSON_TYPE, body);
}
