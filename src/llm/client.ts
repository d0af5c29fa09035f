/** Chat with any OpenAI-compatible endpoint: one answer or a stream, with usage and cost. */
import type { ChatMessage, Endpoint, Usage } from '../core/chat.ts';
import type { Boundary } from '../core/outcome.ts';
import { type PriceTable, priceOf, usageOf } from './cost.ts';
import type { HttpClient, HttpRequest } from './http.ts';
import { contentText } from './messages.ts';
import { ChatStreamReader } from './stream-reader.ts';
import { chatResponseSchema } from './wire.ts';

export interface ChatClientOptions {
  readonly http: HttpClient;
  readonly endpoint: Endpoint;
  readonly timeoutMs: number;
  readonly prices?: PriceTable;
  /** Who is blamed for a failure; `upstream` by default. */
  readonly boundary?: Boundary;
}

export interface ChatOptions {
  readonly temperature?: number;
  readonly maxTokens?: number;
  /** As on the wire, e.g. `{ type: 'json_object' }`. */
  readonly responseFormat?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
}

export interface ChatAnswer {
  readonly text: string;
  /** `stop`, `length`, `content_filter`, …; absent where the provider gave none. */
  readonly finishReason: string | undefined;
  readonly usage: Usage | undefined;
  readonly attempts: number;
}

/** Rejects with `FaultError` only. */
export interface ChatClient {
  readonly model: string;
  complete(messages: readonly ChatMessage[], options?: ChatOptions): Promise<ChatAnswer>;
  /** Hands each piece to `onText` as it arrives. A stream that broke off rejects; it is never begun again. */
  stream(
    messages: readonly ChatMessage[],
    onText: (piece: string) => void,
    options?: ChatOptions,
  ): Promise<ChatAnswer>;
}

export function createChatClient(client: ChatClientOptions): ChatClient {
  const { http, endpoint } = client;
  const price = priceOf(client.prices ?? {}, endpoint.model);
  return {
    model: endpoint.model,
    complete: async (messages, options = {}) => {
      const request = requestOf(client, messages, options);
      const { value, attempts } = await http.post(request, (bytes) =>
        chatResponseSchema.parse(JSON.parse(bytes.toString('utf8'))),
      );
      const [choice] = value.choices;
      const text = contentText(choice?.message.content);
      const usage = usageOf(value.usage, price);
      return { text, finishReason: choice?.finish_reason ?? undefined, usage, attempts };
    },
    stream: async (messages, onText, options = {}) => {
      const request = requestOf(client, messages, { ...options, stream: true });
      const { value, attempts } = await http.stream(request);
      const reader = new ChatStreamReader(client.boundary ?? 'upstream', onText);
      for await (const bytes of value.bytes) reader.feed(bytes);
      const { text, finishReason, usage } = reader.end();
      return { text, finishReason, usage: usageOf(usage, price), attempts };
    },
  };
}

interface Asked extends ChatOptions {
  readonly stream?: true;
}

function requestOf(
  { endpoint, timeoutMs, boundary }: ChatClientOptions,
  messages: readonly ChatMessage[],
  { temperature, maxTokens, responseFormat, signal, stream }: Asked,
): HttpRequest {
  return {
    url: `${endpoint.baseUrl}/chat/completions`,
    apiKey: endpoint.apiKey,
    timeoutMs,
    body: JSON.stringify({
      model: endpoint.model,
      messages,
      temperature,
      max_tokens: maxTokens,
      response_format: responseFormat,
      stream,
      stream_options: stream && { include_usage: true },
    }),
    ...(signal === undefined ? {} : { signal }),
    ...(boundary === undefined ? {} : { boundary }),
  };
}
