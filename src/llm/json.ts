/** Schema-validated JSON from a model: ask, parse, one repair question at most, then a fault. */
import type { z } from 'zod';
import type { ChatMessage, Usage } from '../core/chat.ts';
import { type Boundary, FaultError } from '../core/outcome.ts';
import type { ChatAnswer, ChatClient, ChatOptions } from './client.ts';
import { tryJson } from './parse-json.ts';

export interface JsonQuestion<T> {
  readonly messages: readonly ChatMessage[];
  readonly schema: z.ZodType<T>;
  /** Who is blamed when no valid JSON comes. */
  readonly boundary: Boundary;
  readonly options?: ChatOptions;
}

export interface JsonAnswer<T> {
  readonly value: T;
  /** One entry per call that was made: two after a repair. `undefined` where the provider reported none. */
  readonly usages: readonly (Usage | undefined)[];
}

export async function completeJson<T>(
  client: ChatClient,
  question: JsonQuestion<T>,
): Promise<JsonAnswer<T>> {
  const { messages, schema, boundary } = question;
  const options: ChatOptions = {
    temperature: 0,
    responseFormat: { type: 'json_object' },
    ...question.options,
  };
  const first = await client.complete(messages, options);
  const parsed = parseAnswer(first, schema);
  if (parsed.kind === 'valid') return { value: parsed.value, usages: [first.usage] };
  const repair: ChatMessage = {
    role: 'user',
    content: `That was not valid: ${parsed.problem}. Answer again with the corrected JSON object only.`,
  };
  const said: ChatMessage = { role: 'assistant', content: first.text };
  const second = await client.complete([...messages, said, repair], options);
  const repaired = parseAnswer(second, schema);
  if (repaired.kind === 'valid') {
    return { value: repaired.value, usages: [first.usage, second.usage] };
  }
  throw new FaultError(boundary, `no valid JSON after one repair: ${repaired.problem}`);
}

type Parsed<T> =
  | { readonly kind: 'valid'; readonly value: T }
  | { readonly kind: 'invalid'; readonly problem: string };

function parseAnswer<T>(answer: ChatAnswer, schema: z.ZodType<T>): Parsed<T> {
  if (answer.finishReason === 'length') return { kind: 'invalid', problem: 'it was cut off' };
  const json = tryJson(withoutWrapping(answer.text));
  if (json === undefined) return { kind: 'invalid', problem: 'it is not JSON' };
  const parsed = schema.safeParse(json);
  if (parsed.success) return { kind: 'valid', value: parsed.data };
  const issues = parsed.error.issues.slice(0, 3);
  const problem = issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  return { kind: 'invalid', problem };
}

/** A closed think block in front and a fence around are how many models wrap JSON; anything else is not repaired. */
function withoutWrapping(text: string): string {
  const bare = withoutThinking(text);
  const [, fenced] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(bare) ?? [];
  return fenced ?? bare;
}

/** Some chat templates swallow the opening tag. */
function withoutThinking(text: string): string {
  const close = text.indexOf('</think>');
  if (close === -1) return text;
  const before = text.slice(0, close);
  const isThinking = before.trimStart().startsWith('<think>') || !before.includes('{');
  return isThinking ? text.slice(close + '</think>'.length) : text;
}
