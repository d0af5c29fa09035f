/** Hy-Memory's chat scene: extraction, and the merge with what is near. */
import {
  type ChatExtractPrompt,
  type ChatReconcilePrompt,
  readChatExtract,
  readChatReconcile,
} from '../../../src/harness/adapters/hy-memory/prompts-chat.ts';
import {
  chatExtractStage,
  checkReconcile,
  renderChatExtractView,
  renderChatReconcileView,
} from '../../../src/harness/adapters/hy-memory/stages-chat.ts';
import { composeJson } from '../../../src/harness/json-answer.ts';
import type { ClerkMemory } from '../../../src/world/clerk.ts';
import { nearest } from '../nearest.ts';
import type { Extraction, Kept, Merge } from './contract.ts';
import { decide } from './memories.ts';
import { dayOf, isSpoken, line } from './messages.ts';

const SCENES = ['chat'] as const;
const LAST_MESSAGES = 10;
/** Rows of earlier chunks that the framework looks at, the oldest first. */
const HISTORY_ROWS = 50;
/** Candidates of a draft, and the cosine that makes one. */
const HITS = 20;
const NEAR = 0.4;

export const hyChatExtract: Extraction<ChatExtractPrompt> = {
  kind: 'extraction',
  name: 'hy.chat.extract',
  scenes: SCENES,
  read: readChatExtract,
  view: renderChatExtractView,
  check: (answer) => chatExtractStage.check(answer, []),
  prompt: async ({ at, messages, earlier }) => ({
    last: earlier
      .slice(0, HISTORY_ROWS)
      .flat()
      .filter(isSpoken)
      .slice(-LAST_MESSAGES)
      .map(({ role, text }) => `[${role}]: ${text}`)
      .join('\n'),
    newMessages: messages.filter(isSpoken).map(line),
    memoryDate: dayOf(at),
    currentDate: dayOf(at),
  }),
  known: ({ last }) => [last],
  write: (memories) =>
    composeJson({
      memory: memories.map((memory) => ({
        content: memory.text,
        tags: [TAG],
        owner: ownerOf(memory),
      })),
      intentions: [],
      basic_info: {},
    }),
  texts: (answer) => JSON.parse(answer).memory.map(({ content }: { content: string }) => content),
};

const TAG = 'note';

function ownerOf({ attributedTo }: ClerkMemory): 'user' | 'agent' {
  return attributedTo === 'user' ? 'user' : 'agent';
}

type Row = ChatReconcilePrompt['drafts'][number];

export const hyChatMerge: Merge<ChatReconcilePrompt> = {
  kind: 'merge',
  name: 'hy.chat.reconcile',
  scenes: SCENES,
  read: readChatReconcile,
  view: renderChatReconcileView,
  check: checkReconcile,
  prompt: async (drafts, { at, kept }) => {
    const texts = kept.map(({ text }) => text);
    const found = await Promise.all(
      drafts.map(({ text }) => nearest(text, texts, { limit: HITS, atLeast: NEAR })),
    );
    const near = [...new Set(found.flat().map(({ index }) => kept[index] as Kept))];
    if (near.length === 0) return undefined;
    return {
      now: minuteOf(at),
      existing: near.map((memory, i) => ({ ...rowOf(memory), memory_id: String(i) })),
      drafts: drafts.map((memory) => rowOf({ ...memory, at })),
    };
  },
  decide: ({ existing, drafts }) => {
    const decisions = decide(
      drafts.map(({ content }) => content),
      existing.map(({ content }) => content),
    );
    return composeJson(
      decisions.flatMap((decision, i) => {
        if (decision.kind === 'none') return [];
        const { content, owner, tags } = drafts[i] as Row;
        const target = decision.kind === 'update' && existing[decision.target]?.memory_id;
        return [
          target === false
            ? { op: 'ADD', content, owner, tags }
            : { op: 'UPDATE', memory_id: target, content, owner, tags },
        ];
      }),
    );
  },
};

function rowOf(memory: Kept): Row {
  return {
    content: memory.text,
    owner: ownerOf(memory),
    memory_at: minuteOf(memory.at),
    tags: [TAG],
  };
}

/** YYYY-MM-DD HH:MM */
function minuteOf(at: string): string {
  return at.slice(0, 16).replace('T', ' ');
}
