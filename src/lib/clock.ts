/** Time that comes in as an argument: monotonic readings and waits that an abort ends. */
import { setTimeout as wait } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds on a monotonic scale of its own. */
  nowMs(): number;
  /** Rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  sleep: async (ms, signal) => {
    await wait(ms, undefined, signal === undefined ? {} : { signal });
  },
};
