/** Turns whatever ended a command into an exit code and what a person should read about it. */
import { z } from 'zod';
import { FaultError } from '../core/outcome.ts';
import { CommandError } from '../harness/install/run-command.ts';
import { UserError } from '../lib/user-error.ts';
import { TripwireError } from '../train/tripwires.ts';
import { BadInputError, EXIT, MissingRequirementError } from './exit-codes.ts';
import { InterruptedError } from './interrupt.ts';

export interface Failure {
  readonly exitCode: number;
  readonly text: string;
}

export function describeFailure(error: unknown): Failure {
  if (error instanceof InterruptedError) return { exitCode: EXIT.interrupted, text: error.message };
  if (error instanceof BadInputError || error instanceof UserError)
    return { exitCode: EXIT.badInput, text: error.message };
  if (error instanceof MissingRequirementError)
    return { exitCode: EXIT.missing, text: error.message };
  if (error instanceof FaultError)
    return { exitCode: EXIT.failed, text: `${error.boundary} failed: ${error.message}` };
  if (error instanceof CommandError) return { exitCode: EXIT.failed, text: error.message };
  if (error instanceof TripwireError)
    return { exitCode: EXIT.failed, text: `the run stopped itself: ${error.message}` };
  return describeSystemError(error) ?? describeBug(error);
}

/** What the operating system refused. */
const SYSTEM_ERRORS: Readonly<Record<string, { exitCode: number; problem: string }>> = {
  ENOENT: { exitCode: EXIT.badInput, problem: 'no such file or directory' },
  ENOTDIR: { exitCode: EXIT.badInput, problem: 'a part of this path is a file, not a directory' },
  EISDIR: { exitCode: EXIT.badInput, problem: 'is a directory; give a file' },
  EEXIST: { exitCode: EXIT.badInput, problem: 'exists already' },
  EACCES: { exitCode: EXIT.badInput, problem: 'permission denied' },
  EPERM: { exitCode: EXIT.badInput, problem: 'operation not permitted' },
  EROFS: { exitCode: EXIT.badInput, problem: 'is on a read-only file system' },
  EADDRINUSE: { exitCode: EXIT.badInput, problem: 'is in use by another process; choose another' },
  ENOSPC: { exitCode: EXIT.failed, problem: 'no space left on the device; free some and go on' },
  EMFILE: { exitCode: EXIT.failed, problem: 'too many open files; lower stack.concurrency' },
};

const systemErrorSchema = z.looseObject({
  code: z.string(),
  path: z.string().optional(),
  port: z.number().optional(),
});

function describeSystemError(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  const parsed = systemErrorSchema.safeParse({ ...error });
  if (!parsed.success) return undefined;
  const { code, path, port } = parsed.data;
  const known = Object.hasOwn(SYSTEM_ERRORS, code) ? SYSTEM_ERRORS[code] : undefined;
  if (known === undefined) return undefined;
  const where = path ?? (port === undefined ? 'the system' : `port ${port}`);
  return { exitCode: known.exitCode, text: `${where}: ${known.problem}` };
}

/** Nobody could have mended it from outside: everything that helps to find it is shown. */
function describeBug(error: unknown): Failure {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: EXIT.failed, text: `this is a bug in memwriter, please report it:\n${text}` };
}
