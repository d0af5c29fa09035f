/** Judges a writer's answer as the parser of mem0ai 3.3.1 takes it: whole, or dropped, repaired, misplaced in some part. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { PolicyErrorReason } from '../../../core/outcome.ts';
import type { AnswerVerdict, RequestedOperation } from '../../../core/stage.ts';
import { cleanAnswer, extractJson } from './extract-json.ts';
import type { Mem0Prompt } from './prompt.ts';

/** The SDK's own schema. It stores `text` and `attributed_to`; `id` and `linked_memory_ids` are read by nobody. */
const memorySchema = z.object({
  id: z.string(),
  text: z.string(),
  attributed_to: z.enum(['user', 'assistant']).optional(),
  linked_memory_ids: z.array(z.string()).optional(),
});
const answerSchema = z.object({ memory: z.array(memorySchema) });

const MEMORY_KEYS = new Set(Object.keys(memorySchema.shape));
/** Where writers name an operation. Mem0 ignores the key and adds, whatever it says. */
const OPERATION_KEYS = new Set(['event', 'operation', 'op', 'action']);
/** A JavaScript object cannot hold this key as its own, and the SDK keeps embeddings by text: it drops the memory. */
const UNSTORABLE_TEXT = '__proto__';

export function checkMem0Answer(answer: string, prompt: Mem0Prompt): AnswerVerdict {
  if (answer.trim() === '') return malformed('empty-completion');
  const json = extractJson(answer);
  const value = parseObject(json);
  if (value === undefined || isFragment(answer, value)) return malformed('unparsable');
  const offered = new Set(prompt.existingMemories.map(({ id }) => id));
  const reasons = new Set([
    ...wholenessReasons(answer, json, value),
    ...shapeReasons(value),
    ...memberReasons(value, offered),
  ]);
  if (reasons.size > 0) return malformed(...reasons);
  const texts = answerSchema.parse(value).memory.map(({ text }) => text);
  return { kind: 'well-formed', operations: requestedOperations(texts, prompt) };
}

/** JSON that makes the SDK store exactly these texts, whatever fences, tags or special tokens they contain. */
export function composeMem0Answer(texts: readonly string[]): string {
  const unstorable = texts.find((text) => text === '' || text === UNSTORABLE_TEXT);
  if (unstorable !== undefined) {
    throw new Error(`mem0 cannot store the text ${JSON.stringify(unstorable)}`);
  }
  const memory = texts.map((text, index) => ({ id: String(index), text, attributed_to: 'user' }));
  return JSON.stringify({ memory }).replace(
    /[`<]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
}

function malformed(...reasons: PolicyErrorReason[]): AnswerVerdict {
  return { kind: 'malformed', reasons };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A cut answer: its outer object does not parse, so the SDK takes an inner one and finds no memories in it. */
function isFragment(answer: string, value: Record<string, unknown>): boolean {
  return !Object.hasOwn(value, 'memory') && /\{\s*"memory"/.test(cleanAnswer(answer));
}

/**
 * The SDK deletes fences, `<think>` blocks and end tokens wherever they stand, takes the first object that parses, and
 * keeps the last of two equal keys. Where that touched the JSON itself, or left other JSON behind, a part was dropped.
 */
function wholenessReasons(answer: string, json: string, value: unknown): PolicyErrorReason[] {
  const altered = !answer.includes(json);
  const leftBehind = cleanAnswer(answer)
    .replace(json, () => '')
    .includes('{');
  const literals = json.match(/"(?:[^"\\]|\\.)*"/g)?.length;
  const repeatedKey = literals !== undefined && literals !== countStrings(value);
  return altered || leftBehind || repeatedKey ? ['schema-invalid'] : [];
}

function countStrings(value: unknown): number {
  if (typeof value === 'string') return 1;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countStrings(item), 0);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + 1 + countStrings(item), 0);
}

function shapeReasons(value: Record<string, unknown>): PolicyErrorReason[] {
  if (!Object.hasOwn(value, 'memory')) return ['missing-field'];
  const { memory, ...extra } = value;
  const whole = Array.isArray(memory) && Object.keys(extra).length === 0;
  return whole ? [] : ['schema-invalid'];
}

function memberReasons(
  { memory }: Record<string, unknown>,
  offered: ReadonlySet<string>,
): PolicyErrorReason[] {
  if (!Array.isArray(memory)) return [];
  return memory.flatMap((member: unknown): PolicyErrorReason[] => {
    if (!isObject(member)) return ['schema-invalid'];
    return [...keyReasons(member), ...valueReasons(member, offered)];
  });
}

function keyReasons(member: Record<string, unknown>): PolicyErrorReason[] {
  return Object.entries(member).flatMap(([key, value]): PolicyErrorReason[] => {
    if (MEMORY_KEYS.has(key)) return [];
    if (!OPERATION_KEYS.has(key)) return ['schema-invalid'];
    return value === 'ADD' ? [] : ['unknown-operation'];
  });
}

function valueReasons(
  member: Record<string, unknown>,
  offered: ReadonlySet<string>,
): PolicyErrorReason[] {
  if (!Object.hasOwn(member, 'id') || !Object.hasOwn(member, 'text')) return ['missing-field'];
  const parsed = memorySchema.safeParse(member);
  if (!parsed.success || parsed.data.text === UNSTORABLE_TEXT) return ['schema-invalid'];
  if (parsed.data.text === '') return ['missing-field'];
  const linked = parsed.data.linked_memory_ids;
  return linked?.every((id) => offered.has(id)) === false ? ['unknown-id'] : [];
}

/**
 * The SDK's MD5 dedup, an allowed side effect: a text equal to an offered memory, or to an earlier one of the same
 * answer, is not stored again. Such a request is a `none`, so the adds are exactly what a listing must gain.
 */
export function requestedOperations(
  texts: readonly string[],
  prompt: Pick<Mem0Prompt, 'existingMemories'>,
): RequestedOperation[] {
  const seen = new Set(prompt.existingMemories.map(({ text }) => md5(text)));
  return texts.map((text) => {
    const hash = md5(text);
    if (seen.has(hash)) return { kind: 'none' };
    seen.add(hash);
    return { kind: 'add', text };
  });
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
