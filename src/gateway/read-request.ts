/** Bytes from a framework to a recognised request; whatever cannot be honoured is named and refused, never dropped. */
import type { IncomingMessage } from 'node:http';
import type { ChatMessage } from '../core/chat.ts';
import type { Stage } from '../core/stage.ts';
import { toChatMessage } from '../llm/messages.ts';
import { tryJson } from '../llm/parse-json.ts';
import { type ChatRequest, chatRequestSchema } from '../llm/wire.ts';
import type { Arrival } from './answer.ts';
import type { SlotOptions } from './contract.ts';

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** A request that no writer may answer. `param` is the field at fault. */
export interface BadRequest {
  readonly kind: 'bad';
  readonly message: string;
  readonly code: string;
  readonly param: string | null;
  readonly messages: readonly ChatMessage[];
}
export type ReadRequest = { readonly kind: 'good'; readonly arrival: Arrival } | BadRequest;

/** The whole body, or undefined when it is larger than `MAX_BODY_BYTES`. Rejects when the client or the slot went away. */
export function readBody(
  incoming: IncomingMessage,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      incoming.destroy(new Error('the slot was closed'));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size > MAX_BODY_BYTES) resolve(undefined);
      else chunks.push(chunk);
    });
    incoming.once('end', () => resolve(size > MAX_BODY_BYTES ? undefined : joined(chunks)));
    incoming.once('error', reject);
    incoming.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      reject(new Error('the client left before its request was whole'));
    });
  });
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

export function readChatRequest(body: Buffer, options: SlotOptions): ReadRequest {
  const json = tryJson(body.toString('utf8'));
  if (json === undefined) return bad('the request body is not JSON', 'invalid_json');
  const parsed = chatRequestSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const param = issue?.path.join('.') ?? '';
    return bad(`${param}: ${issue?.message ?? 'invalid'}`, 'invalid_request', { param });
  }
  const request = parsed.data;
  const messages = request.messages.map(toChatMessage);
  const field = unsupportedField(request, options.writer.kind);
  if (field !== undefined) {
    return bad(`${field} is not supported here`, 'unsupported_parameter', {
      param: field,
      messages,
    });
  }
  if (options.stages.length === 0 && options.writer.kind === 'relay') {
    return { kind: 'good', arrival: { request, messages, stage: undefined } };
  }
  const stages = options.stages.filter((stage) => stage.recognise(messages));
  const [stage] = stages;
  if (stages.length !== 1 || stage === undefined) {
    const which = stages.length === 0 ? 'no stage' : stages.map(({ name }) => name).join(' and ');
    const message = `the request is recognised by ${which}; exactly one stage must own it`;
    return bad(message, 'unknown_stage', { messages });
  }
  return { kind: 'good', arrival: { request, messages, stage } };
}

function bad(
  message: string,
  code: string,
  more: { readonly param?: string; readonly messages?: readonly ChatMessage[] } = {},
): BadRequest {
  return { kind: 'bad', message, code, param: more.param ?? null, messages: more.messages ?? [] };
}

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0;
const isFilled = (value: unknown): boolean =>
  isSet(value) && !(Array.isArray(value) && value.length === 0);

/** Fields that change what an answer is and that our own writers do not implement. */
const UNSUPPORTED: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => isSet(value) && value !== 1,
  tools: isFilled,
  functions: isFilled,
  logprobs: isSet,
  top_logprobs: isSet,
  logit_bias: (value) => isSet(value) && JSON.stringify(value) !== '{}',
  stop: isFilled,
  audio: isSet,
  prediction: isSet,
};

function unsupportedField(
  request: ChatRequest,
  writer: SlotOptions['writer']['kind'],
): string | undefined {
  if (writer === 'relay') return isSet(request.n) && request.n !== 1 ? 'n' : undefined;
  return Object.entries(UNSUPPORTED).find(([field, refuses]) => refuses(request[field]))?.[0];
}

export function stageName(stage: Stage | undefined): string {
  return stage?.name ?? 'unchecked';
}
