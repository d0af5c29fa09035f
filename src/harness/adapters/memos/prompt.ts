/** Reads the one kind of request of MemOS 2.0.33 back: a static prompt and a window of the conversation. */
import type { ChatMessage } from '../../../core/chat.ts';
import { sha256 } from '../../../lib/hash.ts';

export interface MemosPrompt {
  /** `role: text` each, their shared time taken out. */
  readonly newMessages: readonly string[];
  /** The chat time that every message carries, as the bridge gave it. */
  readonly time: string;
}

interface Dialect {
  /** End of the static part; the conversation begins after its first occurrence. */
  readonly lead: string;
  readonly sha256: string;
  readonly tail: string;
}

/** The language of the prompt is the one that the framework detects in the conversation. */
const DIALECTS: readonly Dialect[] = [
  {
    lead: 'Always respond in the same language as the conversation.\n\nConversation:\n',
    sha256: '5783e5899b674055b4175bff10a4960e3e129f013dce31531600312c450d6724',
    tail: '\n\n\nYour Output:',
  },
  {
    lead: '请始终使用与对话相同的语言进行回复。\n\n对话：\n',
    sha256: 'f67267c8d1ccd602ba9ffeb809d5567f5b8fd1170b253c8e019244ca2b7ab4b3',
    tail: '\n\n\n您的输出：',
  },
];

const FIRST = /^(?:user|assistant|system): \[([^\]\n]+)\]: /;

export function readMemosPrompt(messages: readonly ChatMessage[]): MemosPrompt | undefined {
  const [user] = messages;
  if (messages.length !== 1 || user?.role !== 'user') return undefined;
  for (const dialect of DIALECTS) {
    const window = cut(user.content, dialect);
    if (window !== undefined) return readWindow(window);
  }
  return undefined;
}

function cut(text: string, { lead, sha256: hash, tail }: Dialect): string | undefined {
  const at = text.indexOf(lead);
  if (at === -1 || !text.endsWith(tail)) return undefined;
  const from = at + lead.length;
  return sha256(text.slice(0, from)) === hash ? text.slice(from, -tail.length) : undefined;
}

/** Every message of a write has one and the same time, so a line that starts otherwise goes on with the message before. */
function readWindow(window: string): MemosPrompt | undefined {
  const time = FIRST.exec(window)?.[1];
  if (time === undefined) return undefined;
  const mark = `[${time}]: `;
  const start = new RegExp(`\\n(?=(?:user|assistant|system): ${escapePattern(mark)})`);
  const newMessages = window.split(start).map((line) => line.replace(mark, ''));
  return { newMessages, time };
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
