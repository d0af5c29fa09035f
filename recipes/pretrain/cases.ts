/** What a writer is shown: a user's chunks in order, each with the bank, the history and the date that Mem0 would show. */
import type { ChatMessage } from '../../src/core/chat.ts';
import type { Message } from '../../src/core/conversation.ts';
import {
  LAST_MESSAGE_CHARS,
  LAST_MESSAGES,
  type Mem0Prompt,
} from '../../src/harness/adapters/mem0/prompt.ts';
import { renderMem0View } from '../../src/harness/adapters/mem0/view.ts';
import type { Rng } from '../../src/lib/rng.ts';
import { createHashEmbedder } from '../../src/llm/hash-embedder.ts';
import { type ClerkStyle, clerkMemories, resolvable } from '../../src/world/clerk.ts';
import type { SessionTruth, WorldUser } from '../../src/world/truth.ts';

const HITS = 10;
const embedder = createHashEmbedder();

export interface ChunkCase {
  readonly prompt: Mem0Prompt;
  /** The view of the prompt: what is tokenised. */
  readonly messages: readonly ChatMessage[];
  /** As far as it can be known from the prompt. */
  readonly truth: SessionTruth;
}

/** A world's session of at most 14 turns is one chunk. The bank is filled by a clerk of the given style. */
export async function casesOf(user: WorldUser, style: ClerkStyle, rng: Rng): Promise<ChunkCase[]> {
  const cases: ChunkCase[] = [];
  const bank = new Set<string>();
  let lastMessages: string[] = [];
  for (const [index, session] of user.sessions.entries()) {
    const newMessages = session.messages.map(renderLine);
    const existing = await nearest([...bank], newMessages.join('\n'));
    const truth = resolvable(truthOf(user, index), [...existing, ...lastMessages]);
    const prompt: Mem0Prompt = {
      lastMessages,
      existingMemories: existing.map((text, i) => ({ id: String(i), text })),
      newMessages,
      date: session.at.slice(0, 10),
    };
    cases.push({ prompt, messages: renderMem0View(prompt), truth });
    for (const text of clerkMemories(truth, style, rng.fork(`bank ${index}`))) bank.add(text);
    lastMessages = newMessages.slice(-LAST_MESSAGES).map(cut);
  }
  return cases;
}

function truthOf(user: WorldUser, index: number): SessionTruth {
  const truth = user.truth[index];
  if (truth === undefined) throw new Error(`${user.userId} has no truth for session ${index}`);
  return truth;
}

function renderLine({ role, text }: Message): string {
  return `${role}: ${text}`;
}

function cut(line: string): string {
  return line.length <= LAST_MESSAGE_CHARS ? line : `${line.slice(0, LAST_MESSAGE_CHARS)}...`;
}

/** The SDK's own search: the ten nearest memories by cosine, nearest first. */
async function nearest(texts: readonly string[], query: string): Promise<string[]> {
  if (texts.length === 0) return [];
  const [target, ...vectors] = await embedder.embed([query, ...texts]);
  if (target === undefined) throw new Error('the embedder returned no vector');
  const cosine = (vector: Float32Array): number =>
    vector.reduce((sum, value, i) => sum + value * (target[i] ?? Number.NaN), 0);
  return vectors
    .map((vector, i) => ({ text: texts[i] ?? '', score: cosine(vector) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, HITS)
    .map(({ text }) => text);
}
