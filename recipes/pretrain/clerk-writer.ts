/** A clerk as the writer inside a real framework: reads its requests and answers them in its formats. */
import type { ChatMessage } from '../../src/core/chat.ts';
import type { Rng } from '../../src/lib/rng.ts';
import { type ClerkStyle, clerkRecords } from '../../src/world/clerk.ts';
import type { SessionTruth } from '../../src/world/truth.ts';
import { shownTruth } from './cases.ts';
import { EXTRACTIONS, MERGES } from './tasks/tasks.ts';

/** What the clerk answers to a request about this session. Throws at a request that is no task's. */
export function clerkAnswer(
  messages: readonly ChatMessage[],
  truth: SessionTruth,
  { style, rng }: { readonly style: ClerkStyle; readonly rng: Rng },
): string {
  for (const task of EXTRACTIONS) {
    const prompt = task.read(messages);
    if (prompt === undefined) continue;
    return task.write(clerkRecords(shownTruth(task, prompt, truth), style, rng), prompt);
  }
  for (const task of MERGES) {
    const prompt = task.read(messages);
    if (prompt !== undefined) return task.decide(prompt);
  }
  throw new Error('a request that no task knows');
}
