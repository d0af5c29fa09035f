/** JSON as EverOS finds it in an answer: it counts braces, also those inside of strings. */
import type { z } from 'zod';
import { composeJson, readShapedAnswer, type Shaped } from '../../json-answer.ts';

/** Braces inside of a string derail the framework's own search for the JSON; as escapes they pass. */
export function readBraced<T>(
  answer: string,
  schema: z.ZodType<T>,
  operationKeys: readonly string[] = [],
): Shaped<T> {
  const literals = answer.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  if (literals.some((literal) => /[{}]/.test(literal))) {
    return { kind: 'malformed', reasons: ['unparsable'] };
  }
  return readShapedAnswer(answer, schema, operationKeys);
}

/** The value as JSON with no brace inside of a string. */
export function escapeBraces(value: object): string {
  return composeJson(value).replace(/"(?:[^"\\]|\\.)*"/g, (literal) =>
    literal.replace(/[{}]/g, (brace) => `\\u00${brace.charCodeAt(0).toString(16)}`),
  );
}
