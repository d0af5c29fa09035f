/** One answer on its way to a framework: live to every connection that waits for it, replayed to one that comes later. */
import type { ServerResponse } from 'node:http';

/** Where a writer's answer goes. */
export interface Sink {
  readonly begun: boolean;
  begin(status: number, contentType: string): void;
  write(bytes: Uint8Array): void;
  end(): void;
  /** A whole answer at once. */
  complete(status: number, contentType: string, body: string | Uint8Array): void;
}

type State = 'waiting' | 'flowing' | 'ended' | 'cut';

export class Broadcast implements Sink {
  #state: State = 'waiting';
  #status = 0;
  #contentType = '';
  readonly #chunks: Uint8Array[] = [];
  readonly #connections = new Set<ServerResponse>();
  #delivered = 0;
  #attached = 0;

  get begun(): boolean {
    return this.#state !== 'waiting';
  }

  /** Every connection that waited for this answer was cut before it arrived. */
  get undelivered(): boolean {
    return this.#attached > 0 && this.#delivered === 0 && this.#connections.size === 0;
  }

  begin(status: number, contentType: string): void {
    this.#state = 'flowing';
    this.#status = status;
    this.#contentType = contentType;
    for (const outgoing of this.#connections) {
      outgoing.writeHead(status, { 'content-type': contentType });
      outgoing.flushHeaders();
    }
  }

  write(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    for (const outgoing of this.#connections) outgoing.write(bytes);
  }

  end(): void {
    this.#state = 'ended';
    for (const outgoing of this.#connections) outgoing.end();
  }

  complete(status: number, contentType: string, body: string | Uint8Array): void {
    this.#state = 'ended';
    this.#status = status;
    this.#contentType = contentType;
    this.#chunks.push(typeof body === 'string' ? Buffer.from(body) : body);
    for (const outgoing of this.#connections) this.#replay(outgoing);
  }

  /** The answer broke off after it had begun: a client must not take the part for the whole. */
  cut(): void {
    this.#state = 'cut';
    for (const outgoing of this.#connections) outgoing.destroy();
  }

  attach(outgoing: ServerResponse): void {
    this.#attached += 1;
    if (outgoing.destroyed) return;
    this.#connections.add(outgoing);
    outgoing.once('close', () => {
      this.#connections.delete(outgoing);
      if (outgoing.writableFinished) this.#delivered += 1;
    });
    switch (this.#state) {
      case 'waiting':
        return;
      case 'flowing':
        outgoing.writeHead(this.#status, { 'content-type': this.#contentType });
        for (const chunk of this.#chunks) outgoing.write(chunk);
        return;
      case 'ended':
        this.#replay(outgoing);
        return;
      case 'cut':
        outgoing.destroy();
        return;
      default:
        this.#state satisfies never;
    }
  }

  #replay(outgoing: ServerResponse): void {
    const body = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    outgoing.writeHead(this.#status, {
      'content-type': this.#contentType,
      'content-length': body?.byteLength,
    });
    outgoing.end(body);
  }
}
