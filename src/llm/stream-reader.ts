/** A provider's event stream read to its answer; what is cut short or not a completion is a fault, not an answer. */
import { type Boundary, FaultError } from '../core/outcome.ts';
import { tryJson } from './parse-json.ts';
import { SseReader } from './sse.ts';
import { chatChunkSchema, type WireUsage } from './wire.ts';

export interface StreamedAnswer {
  readonly text: string;
  readonly finishReason: string;
  readonly toolCalls: readonly unknown[];
  readonly usage: WireUsage | undefined;
}

export class ChatStreamReader {
  readonly #sse = new SseReader((data) => this.#event(data));
  readonly #boundary: Boundary;
  readonly #onText: (piece: string) => void;
  readonly #toolCalls: unknown[] = [];
  #text = '';
  #finishReason: string | undefined;
  #usage: WireUsage | undefined;

  constructor(boundary: Boundary, onText: (piece: string) => void) {
    this.#boundary = boundary;
    this.#onText = onText;
  }

  feed(bytes: Uint8Array): void {
    this.#sse.feed(bytes);
  }

  end(): StreamedAnswer {
    this.#sse.end();
    if (this.#finishReason === undefined) {
      throw new FaultError(this.#boundary, 'the stream ended without a finish reason');
    }
    return {
      text: this.#text,
      finishReason: this.#finishReason,
      toolCalls: this.#toolCalls,
      usage: this.#usage,
    };
  }

  #event(data: string): void {
    if (data === '[DONE]') return;
    const parsed = chatChunkSchema.safeParse(tryJson(data));
    if (!parsed.success) {
      throw new FaultError(this.#boundary, `malformed event in the stream: ${data.slice(0, 200)}`);
    }
    const { choices, usage, error } = parsed.data;
    if (error)
      throw new FaultError(this.#boundary, `error in the stream: ${error.message ?? data}`);
    if (usage) this.#usage = usage;
    const [choice] = choices;
    this.#toolCalls.push(...(choice?.delta?.tool_calls ?? []));
    this.#finishReason = choice?.finish_reason ?? this.#finishReason;
    const piece = choice?.delta?.content ?? '';
    if (piece === '') return;
    this.#text += piece;
    this.#onText(piece);
  }
}
