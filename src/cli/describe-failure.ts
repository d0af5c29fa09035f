/** Turns whatever ended a command into an exit code and what a person should read about it. */
import { z } from 'zod';
import { FaultError } from '../core/outcome.ts';
import { BadInputError, EXIT, MissingRequirementError } from './exit-codes.ts';
import { InterruptedError } from './interrupt.ts';

export interface Failure {
  readonly exitCode: number;
  readonly text: string;
}

export function describeFailure(error: unknown): Failure {
  if (error instanceof InterruptedError) return { exitCode: EXIT.interrupted, text: error.message };
  if (error instanceof BadInputError) return { exitCode: EXIT.badInput, text: error.message };
  if (error instanceof MissingRequirementError)
    return { exitCode: EXIT.missing, text: error.message };
  if (error instanceof z.ZodError) return { exitCode: EXIT.badInput, text: z.prettifyError(error) };
  if (error instanceof FaultError)
    return { exitCode: EXIT.failed, text: `${error.boundary} failed: ${error.message}` };
  if (error instanceof Error) return { exitCode: EXIT.failed, text: error.stack ?? error.message };
  return { exitCode: EXIT.failed, text: String(error) };
}
