/**
 * Evaluation's and serving's writer: any OpenAI-compatible provider, passed through as it arrives and recorded.
 *
 * The only retries are those of `llm/http.ts`. What fails after them goes back as HTTP 400, which a framework's SDK does
 * not repeat: its own retries would multiply ours and hide the fault. A stream that breaks off midway cuts the
 * framework's connection; the record, and every repetition of the request, is that fault.
 */
import type { Usage } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import { type Price, usageOf } from '../llm/cost.ts';
import { type HttpClient, HttpFaultError, type HttpRequest } from '../llm/http.ts';
import { contentText, toWellFormed } from '../llm/messages.ts';
import { ChatStreamReader } from '../llm/stream-reader.ts';
import { type ChatResponse, chatResponseSchema } from '../llm/wire.ts';
import {
  type AnswerContext,
  type Answerer,
  type Arrival,
  judgeAnswer,
  type Recorded,
} from './answer.ts';
import type { Writer } from './contract.ts';
import { emitOverflow, JSON_TYPE } from './emit.ts';

type RelayWriter = Extract<Writer, { kind: 'relay' }>;

export interface RelayDeps {
  readonly http: HttpClient;
  /** Of the endpoint's model; absent where unknown. */
  readonly price: Price | undefined;
}

export function relayAnswerer(writer: RelayWriter, deps: RelayDeps): Answerer {
  return async (arrival, context) => {
    const request = forward(writer, arrival, context);
    try {
      return arrival.request.stream === true
        ? await streamed(request, arrival, { context, deps })
        : await whole(request, arrival, { context, deps });
    } catch (error) {
      if (error instanceof HttpFaultError && isOverflow(error)) return overflow(context, error);
      throw error;
    }
  };
}

/** Every field as the framework sent it, but for the model's name. */
function forward(
  { endpoint, timeoutMs }: RelayWriter,
  { request }: Arrival,
  { body, signal }: AnswerContext,
): HttpRequest {
  return {
    url: `${endpoint.baseUrl}/chat/completions`,
    apiKey: endpoint.apiKey,
    body:
      withModel(body, request.model, endpoint.model) ??
      JSON.stringify({ ...request, model: endpoint.model }),
    timeoutMs,
    signal,
  };
}

/**
 * The body with the model's name exchanged in place, which spares writing a large body anew. Inside a JSON string a
 * quote is escaped, so `"model":` is a key wherever it stands; where it stands once, it is the one that was parsed.
 * `undefined` where that is not plain to see.
 */
function withModel(body: Buffer, from: string, to: string): Buffer | undefined {
  const key = Buffer.from(`"model":${JSON.stringify(from)}`);
  const spaced = Buffer.from(`"model": ${JSON.stringify(from)}`);
  const at = body.indexOf('"model"');
  if (at === -1 || body[at - 1] === BACKSLASH || body.indexOf('"model"', at + 1) !== -1) {
    return undefined;
  }
  const found = [key, spaced].find((wanted) =>
    wanted.equals(body.subarray(at, at + wanted.length)),
  );
  if (found === undefined) return undefined;
  const rest = body.subarray(at + found.length);
  return Buffer.concat([body.subarray(0, at), Buffer.from(`"model":${JSON.stringify(to)}`), rest]);
}

const BACKSLASH = 0x5c;

interface Relaying {
  readonly context: AnswerContext;
  readonly deps: RelayDeps;
}

async function whole(
  request: HttpRequest,
  arrival: Arrival,
  { context, deps }: Relaying,
): Promise<Recorded> {
  const { value } = await deps.http.post(request, (bytes) => ({
    bytes,
    response: chatResponseSchema.parse(JSON.parse(bytes.toString('utf8'))),
  }));
  const { text, finishReason } = answerOf(value.response);
  const usage = usageOf(value.response.usage, deps.price);
  const recorded = recordOf(arrival, { text, finishReason, usage });
  context.sink.complete(200, JSON_TYPE, value.bytes);
  return recorded;
}

async function streamed(
  request: HttpRequest,
  arrival: Arrival,
  { context, deps }: Relaying,
): Promise<Recorded> {
  const { value } = await deps.http.stream(request);
  const reader = new ChatStreamReader('upstream', () => {});
  context.sink.begin(200, value.contentType);
  for await (const bytes of value.bytes) {
    reader.feed(bytes);
    context.sink.write(bytes);
  }
  const { text, finishReason, toolCalls, usage } = reader.end();
  const recorded = recordOf(arrival, {
    text: withToolCalls(text, toolCalls),
    finishReason,
    usage: usageOf(usage, deps.price),
  });
  context.sink.end();
  return recorded;
}

interface ProviderAnswer {
  readonly text: string;
  readonly finishReason: string | undefined;
  readonly usage: Usage | undefined;
}

function answerOf({ choices }: ChatResponse): Omit<ProviderAnswer, 'usage'> {
  const [choice] = choices;
  const text = withToolCalls(
    contentText(choice?.message.content),
    choice?.message.tool_calls ?? [],
  );
  return { text, finishReason: choice?.finish_reason ?? undefined };
}

/** What a stage is to check where a framework asks for tools: the calls as JSON, after any text. */
function withToolCalls(text: string, toolCalls: readonly unknown[]): string {
  if (toolCalls.length === 0) return text;
  return [text, JSON.stringify(toolCalls)].filter((part) => part !== '').join('\n');
}

function recordOf(arrival: Arrival, answer: ProviderAnswer): Recorded {
  if (answer.finishReason === 'content_filter') {
    throw new FaultError('upstream', 'the provider filtered the answer');
  }
  const text = toWellFormed(answer.text);
  const stopReason = answer.finishReason === 'length' ? 'length' : 'stop';
  const outcome = judgeAnswer(arrival, text, stopReason);
  return {
    text,
    stopReason,
    outcome,
    ...(answer.usage === undefined ? {} : { usage: answer.usage }),
  };
}

/** The code is OpenAI's; vLLM and others only say it. */
function isOverflow({ status, code, message }: HttpFaultError): boolean {
  if (code === 'context_length_exceeded') return true;
  return status === 400 && /maximum context length|context (?:length|window|size)/i.test(message);
}

function overflow(context: AnswerContext, error: HttpFaultError): Recorded {
  emitOverflow(context, error.message);
  return {
    text: '',
    stopReason: 'overflow',
    outcome: { kind: 'policy-error', reasons: ['context-overflow'] },
  };
}
