/** One write as a rollout makes it: what the framework said, and what we conclude from calls and listings. */
import type { Listing } from '../core/bank.ts';
import type { Chunk } from '../core/conversation.ts';
import { FaultError } from '../core/outcome.ts';
import { writeChunk } from '../rollout/write-chunk.ts';
import type { Lab, OpenBank } from './lab.ts';

export const SAID_CHARACTERS = 160;

export interface Conclusion {
  /** `resolved`, or what the write rejected with. */
  readonly frameworkSaid: string;
  /** `ok`, `policy-error: reasons`, `fault: boundary`, or `not a fault: message`. */
  readonly concluded: string;
}

export async function conclude(
  { harness }: Lab,
  { bank, slot }: OpenBank,
  { chunk, before }: { readonly chunk: Chunk; readonly before: Listing },
): Promise<Conclusion> {
  let frameworkSaid = 'resolved';
  const watched = {
    list: () => bank.list(),
    retrieve: (question: string) => bank.retrieve(question),
    contentHash: () => bank.contentHash(),
    close: () => bank.close(),
    [Symbol.asyncDispose]: () => bank[Symbol.asyncDispose](),
    write: async (written: Chunk) => {
      try {
        return await bank.write(written);
      } catch (cause) {
        frameworkSaid = messageOf(cause).slice(0, SAID_CHARACTERS);
        throw cause;
      }
    },
  };
  const countTokens = (one: string): number => one.length;
  try {
    const { write } = await writeChunk(
      { harness, slot, bank: watched, countTokens },
      chunk,
      before,
    );
    const { outcome } = write;
    return {
      frameworkSaid,
      concluded: outcome.kind === 'ok' ? 'ok' : `policy-error: ${outcome.reasons.join(', ')}`,
    };
  } catch (cause) {
    const attributed = cause instanceof FaultError;
    return {
      frameworkSaid,
      concluded: attributed ? `fault: ${cause.boundary}` : `not a fault: ${messageOf(cause)}`,
    };
  }
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
