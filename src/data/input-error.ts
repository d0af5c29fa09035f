/** What is wrong with somebody's input file: where, what, and what to do, in one sentence. */
import { z } from 'zod';
import { UserError } from '../lib/user-error.ts';

export class InputError extends UserError {
  override readonly name = 'InputError';
  /** File and, where it has lines, line: `sessions.jsonl:12`. */
  readonly where: string;

  constructor(where: string, problem: string, options?: ErrorOptions) {
    super(`${where}: ${problem}`, options);
    this.where = where;
  }
}

/** The first thing a schema found, as one sentence: "`messages[2].role`: Invalid option …." */
export function describeIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) throw new Error('a failed parse without an issue', { cause: error });
  const path = z.core.toDotPath(issue.path);
  const subject = path === '' ? 'the value' : `\`${path}\``;
  if (issue.code === 'custom') return `${subject} ${issue.message}`;
  return `${subject}: ${issue.message}.`;
}
