/** Reads the two requests of mem0ai 1.0.11 back into the parts that the SDK put together. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import { sha256 } from '../../../lib/hash.ts';
import { LiteralError, parseLiteral } from '../../python-literal.ts';

/** sha256 of the fact prompt, its day cut out, and of the update prompt's parts before the memories and after the facts. */
const FACTS_SHA256 = 'f312f3945bd10ee8e17d46de17897caf906f022157d86a74352010c14b2fbb65';
const UPDATE_HEAD_SHA256 = 'da0f582b27735d041c65236648b1a876c7118beee73a0f6f050f22fe71e6427e';
const UPDATE_TAIL_SHA256 = '11cb64043d7904daad9e8ef2d6caa44246808fed0e12a8184a6563e622fe83d4';

export interface FactsPrompt {
  /** `role: text` each. */
  readonly newMessages: readonly string[];
  /** YYYY-MM-DD. */
  readonly date: string;
}

export interface UpdatePrompt {
  /** Hits of the SDK's own search, ids renumbered from 0. */
  readonly existingMemories: readonly { readonly id: string; readonly text: string }[];
  /** The facts that the first call found. */
  readonly facts: readonly string[];
}

const DAY = /(?<=Today's date is )\d{4}-\d{2}-\d{2}(?=\.)/;
const NEXT_MESSAGE = /\n(?=(?:system|user|assistant): )/;
const INPUT = 'Input:\n';

export function readFactsPrompt(messages: readonly ChatMessage[]): FactsPrompt | undefined {
  const [system, user] = messages;
  if (messages.length !== 2 || system?.role !== 'system' || user?.role !== 'user') return undefined;
  const date = DAY.exec(system.content)?.[0];
  if (date === undefined || sha256(system.content.replace(DAY, '')) !== FACTS_SHA256) {
    return undefined;
  }
  if (!user.content.startsWith(INPUT) || !user.content.endsWith('\n')) return undefined;
  const text = user.content.slice(INPUT.length, -1);
  return { newMessages: text.split(NEXT_MESSAGE), date };
}

const EMPTY = '\n    Current memory is empty.\n\n    ';
const BELOW =
  '\n    Below is the current content of my memory which I have collected till now. You have to update it in the following format only:\n\n    ```\n    ';
const FENCE_END = '\n    ```\n\n    ';
const FACTS =
  '\n\n    The new retrieved facts are mentioned in the triple backticks. You have to analyze the new retrieved facts and determine whether these facts should be added, updated, or deleted in the memory.\n\n    ```\n    ';
const TAIL = '\n    ```\n\n    You must return';

const memoriesSchema = z.array(z.strictObject({ id: z.string(), text: z.string() })).min(1);
const factsSchema = z.array(z.string()).min(1);

/** A Python literal holds no line break, so the first line after a heading is all of it. */
export function readUpdatePrompt(messages: readonly ChatMessage[]): UpdatePrompt | undefined {
  const [user] = messages;
  if (messages.length !== 1 || user?.role !== 'user') return undefined;
  const text = user.content;
  const tailAt = text.lastIndexOf(TAIL);
  const factsAt = text.lastIndexOf(FACTS, tailAt);
  if (tailAt === -1 || factsAt === -1) return undefined;
  if (sha256(text.slice(tailAt)) !== UPDATE_TAIL_SHA256) return undefined;
  const facts = readLiteral(text.slice(factsAt + FACTS.length, tailAt), factsSchema);
  const before = text.slice(0, factsAt);
  const memories = readMemories(before);
  return facts === undefined || memories === undefined ? undefined : { ...memories, facts };
}

function readMemories(before: string): Pick<UpdatePrompt, 'existingMemories'> | undefined {
  if (before.endsWith(EMPTY)) {
    return isHead(before.slice(0, -EMPTY.length)) ? { existingMemories: [] } : undefined;
  }
  const at = before.lastIndexOf(BELOW);
  if (at === -1 || !before.endsWith(FENCE_END) || !isHead(before.slice(0, at))) return undefined;
  const literal = before.slice(at + BELOW.length, -FENCE_END.length);
  const existingMemories = readLiteral(literal, memoriesSchema);
  return existingMemories && { existingMemories };
}

function isHead(text: string): boolean {
  return sha256(text) === UPDATE_HEAD_SHA256;
}

function readLiteral<T>(literal: string, schema: z.ZodType<T>): T | undefined {
  try {
    const parsed = schema.safeParse(parseLiteral(literal));
    return parsed.success ? parsed.data : undefined;
  } catch (cause) {
    if (cause instanceof LiteralError) return undefined;
    throw cause;
  }
}
