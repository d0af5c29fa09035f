/** One logical call: however often a provider SDK re-sends it, it is sampled and recorded once. */
import type { Fault } from '../core/outcome.ts';
import type { Call } from '../core/trace.ts';
import { Broadcast } from './broadcast.ts';

export interface LogicalCall {
  readonly id: string;
  readonly purpose: Call['purpose'];
  readonly broadcast: Broadcast;
  /** Absent while in flight. */
  call: Call | undefined;
  taken: boolean;
}

export interface UnansweredCall {
  readonly purpose: Call['purpose'];
  readonly stage: string;
  readonly outcome: Fault;
  readonly durationMs: number;
}

/** Answers of one slot by request body, so that a re-sent request finds the call it belongs to. */
export class CallLedger {
  readonly #all: LogicalCall[] = [];
  readonly #byBody = new Map<string, LogicalCall[]>();
  #arrived = 0;

  /**
   * The call that a request with this body repeats. An SDK that says it is retrying repeats the latest one; without
   * that word a request repeats only a call whose every connection was cut. Otherwise it is a new call.
   */
  find(bodyHash: string, saysRetry: boolean): LogicalCall | undefined {
    const same = this.#byBody.get(bodyHash) ?? [];
    const cut = same.findLast(({ broadcast }) => broadcast.undelivered);
    return cut ?? (saysRetry ? same.at(-1) : undefined);
  }

  open(bodyHash: string, purpose: Call['purpose']): LogicalCall {
    const logical: LogicalCall = {
      id: String(this.#arrived++),
      purpose,
      broadcast: new Broadcast(),
      call: undefined,
      taken: false,
    };
    this.#all.push(logical);
    const same = this.#byBody.get(bodyHash);
    if (same === undefined) this.#byBody.set(bodyHash, [logical]);
    else same.push(logical);
    return logical;
  }

  /** What failed before or beside the writer, such as an embedding, has no answer, yet must not go unseen. */
  recordFault({ purpose, stage, outcome, durationMs }: UnansweredCall): void {
    const id = String(this.#arrived++);
    const record = { id, purpose, stage, messages: [], text: '' };
    const call: Call = { ...record, stopReason: 'error', outcome, durationMs };
    this.#all.push({ id, purpose, broadcast: new Broadcast(), call, taken: false });
  }

  /** Records since the last take. They stay joinable until the next one. */
  take(): Call[] {
    const fresh = this.#all.filter(({ taken }) => !taken);
    const calls = fresh.map(recordOf);
    this.#forgetTaken(fresh);
    for (const logical of fresh) logical.taken = true;
    return calls;
  }

  #forgetTaken(fresh: readonly LogicalCall[]): void {
    this.#all.splice(0, this.#all.length, ...fresh);
    for (const [body, same] of this.#byBody) {
      const kept = same.filter(({ taken }) => !taken);
      if (kept.length === 0) this.#byBody.delete(body);
      else this.#byBody.set(body, kept);
    }
  }
}

function recordOf({ id, call, broadcast }: LogicalCall): Call {
  if (call === undefined) throw new Error(`call ${id} is still in flight`);
  if (!broadcast.undelivered) return call;
  const message = 'the client closed its connection and never came back for the answer';
  return { ...call, outcome: { kind: 'fault', boundary: 'gateway', message } };
}
