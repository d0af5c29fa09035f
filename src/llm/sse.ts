/** Server-sent events as OpenAI uses them, both ways. */
import { createParser } from 'eventsource-parser';

export const SSE_DONE = 'data: [DONE]\n\n';

export function sseEvent(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** Feeds bytes as they arrive and hands each event's data on; a character cut between two chunks is kept whole. */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #parser;

  constructor(onData: (data: string) => void) {
    this.#parser = createParser({ onEvent: ({ data }) => onData(data) });
  }

  feed(bytes: Uint8Array): void {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Flushes an event that lacks its closing blank line. */
  end(): void {
    this.#parser.feed(`${this.#decoder.decode()}\n\n`);
  }
}
