/** Wire messages reduced to what a writer can depend on: one well-formed string each, nothing dropped in silence. */
import type { ChatMessage } from '../core/chat.ts';
import type { WireContent, WireMessage } from './wire.ts';

export function toChatMessage(message: WireMessage): ChatMessage {
  const text = contentText(message.content);
  const calls = message.tool_calls ?? [];
  const parts = [text, ...calls.map((call) => `[tool_call: ${JSON.stringify(call)}]`)];
  const refusal = message.refusal ?? '';
  if (refusal !== '') parts.push(refusal);
  return {
    role: message.role === 'function' ? 'tool' : message.role,
    content: toWellFormed(parts.filter((part) => part !== '').join('\n')),
  };
}

/** Text parts joined; a part of another kind is shown as its JSON with long payloads cut, so that a reader sees it was there. */
export function contentText(content: WireContent): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content.map(({ text, ...part }) => text ?? `[${part.type}: ${brief(part)}]`).join('\n');
}

/** Lone surrogates become U+FFFD: JSON can carry them, UTF-8 cannot. */
export function toWellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}

function brief(part: unknown): string {
  return JSON.stringify(part, (_key, value: unknown) =>
    typeof value === 'string' && value.length > 200 ? `${value.slice(0, 64)}…` : value,
  );
}
