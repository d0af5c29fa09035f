/** The memory harness's one stage: which of the new messages to keep, one line each. */
import { z } from 'zod';
import type { ChatMessage } from '../core/chat.ts';
import type { AnswerVerdict, RequestedOperation, Stage, StageRequest } from '../core/stage.ts';

const SYSTEM = 'keep: name the messages that are worth remembering';
const LINE = /^(?<verb>keep|skip) (?<index>\d+)$|^note (?<note>.+)$/;

const requestSchema = z.object({
  existing: z.array(z.object({ id: z.string(), text: z.string() })),
  messages: z.array(z.string()),
});

/** Ids as the framework offers them: positions, never its own random ones. */
export function renderKeepRequest(
  messages: readonly string[],
  memories: readonly { readonly text: string }[],
): ChatMessage[] {
  const existing = memories.map(({ text }, id) => ({ id: String(id), text }));
  return [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: JSON.stringify({ existing, messages }) },
  ];
}

export const keepStage: Stage = {
  name: 'keep',
  recognise: ([first]) => first?.content === SYSTEM,
  read: readRequest,
  view: (messages) => messages,
  check: checkAnswer,
  compose: (texts) => texts.map((text) => `note ${text}`).join('\n'),
};

export function readRequest(messages: readonly ChatMessage[]): StageRequest {
  const request = requestSchema.parse(JSON.parse(messages[1]?.content ?? ''));
  return { newMessages: request.messages, existingMemories: request.existing };
}

function checkAnswer(answer: string, messages: readonly ChatMessage[]): AnswerVerdict {
  const { newMessages } = readRequest(messages);
  const operations: RequestedOperation[] = [];
  for (const line of answer.split('\n').filter((candidate) => candidate !== '')) {
    const parts = LINE.exec(line)?.groups;
    if (parts === undefined) return { kind: 'malformed', reasons: ['unparsable'] };
    const { verb, index, note } = parts;
    const text = note ?? newMessages[Number(index)];
    if (text === undefined) return { kind: 'malformed', reasons: ['unknown-id'] };
    if (verb !== 'skip') operations.push({ kind: 'add', text });
  }
  return { kind: 'well-formed', operations };
}
