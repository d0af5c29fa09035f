/** The view names candidates by position; the framework's ids are random. An answer is mapped back here. */
import { readJsonAnswer } from '../../json-answer.ts';

/** An id of the framework's form that no memory has. */
export const NOBODY = '00000000-0000-4000-8000-000000000000';

/** Values of these keys, and members of lists under them, are positions in an answer to the view. */
export function idsFromPositions(
  answer: string,
  ids: readonly string[],
  keys: readonly string[],
): string {
  const read = readJsonAnswer(answer);
  return read.kind === 'malformed' ? answer : JSON.stringify(rename(read.value, false));

  function rename(value: unknown, named: boolean): unknown {
    if (Array.isArray(value)) return value.map((member) => rename(member, named));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([key, member]) => [key, rename(member, keys.includes(key))]),
      );
    }
    return named && typeof value === 'string' && /^\d+$/.test(value)
      ? (ids[Number(value)] ?? value)
      : value;
  }
}
