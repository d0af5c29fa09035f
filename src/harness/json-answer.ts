/** A strict reading of an answer that should be one JSON value, shared by frameworks whose parsers are all lenient. */
import type { z } from 'zod';
import type { PolicyErrorReason } from '../core/outcome.ts';
import type { AnswerVerdict } from '../core/stage.ts';

const FENCED = /^```(?:json)?\n([\s\S]*?)\n?```$/;
/** Frameworks cut these out wherever they stand, inside of a string too. */
const CUT_MARKS = /```|<\/?think>/;
const THOUGHT = /^<think>[^{}[\]]*<\/think>/;

export type JsonAnswer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'malformed'; readonly reason: PolicyErrorReason };

/**
 * The answer's one JSON value: bare, or in one fence, after a thought without brackets. Prose around it, a second value
 * or a repeated key is malformed: what each framework makes of those differs, and some of it is lost.
 */
export function readJsonAnswer(answer: string): JsonAnswer {
  const spoken = answer.trim().replace(THOUGHT, '').trim();
  if (spoken === '') return { kind: 'malformed', reason: 'empty-completion' };
  const text = FENCED.exec(spoken)?.[1] ?? spoken;
  if (CUT_MARKS.test(text)) return { kind: 'malformed', reason: 'schema-invalid' };
  const value = parseJson(text);
  if (value === undefined) return { kind: 'malformed', reason: 'unparsable' };
  const literals = text.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0;
  // Of two equal keys every parser keeps one.
  if (literals !== countStrings(value)) return { kind: 'malformed', reason: 'schema-invalid' };
  return { kind: 'value', value };
}

/** JSON that no framework cuts anything out of: what it would take for a mark stands as an escape. */
export function composeJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[`<]/g,
    (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`,
  );
}

export type Shaped<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'malformed'; readonly reasons: readonly PolicyErrorReason[] };

/** An answer of this strict schema, or the reasons why it is none. `operationKeys` name fields that hold an operation. */
export function readShapedAnswer<T>(
  answer: string,
  schema: z.ZodType<T>,
  operationKeys: readonly string[] = [],
): Shaped<T> {
  const read = readJsonAnswer(answer);
  if (read.kind === 'malformed') return { kind: 'malformed', reasons: [read.reason] };
  const parsed = schema.safeParse(read.value, { reportInput: true });
  if (parsed.success) return { kind: 'value', value: parsed.data };
  const reasons = parsed.error.issues.map((issue) => reasonOf(issue, operationKeys));
  return { kind: 'malformed', reasons: [...new Set(reasons)] };
}

export function malformed(...reasons: PolicyErrorReason[]): AnswerVerdict {
  return { kind: 'malformed', reasons: [...new Set(reasons)] };
}

function reasonOf(issue: z.core.$ZodIssue, operationKeys: readonly string[]): PolicyErrorReason {
  const key = issue.path.at(-1);
  if (issue.input === undefined && issue.code !== 'unrecognized_keys') return 'missing-field';
  if (typeof key === 'string' && operationKeys.includes(key)) return 'unknown-operation';
  return 'schema-invalid';
}

/** Undefined where the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** Keys and string values, as many as the text has string literals. */
function countStrings(value: unknown): number {
  if (typeof value === 'string') return 1;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countStrings(item), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + 1 + countStrings(item), 0);
}
