/** Who can mend a failure decides what is said about it. */
import { open } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { FaultError } from '../core/outcome.ts';
import { InputError } from '../data/input-error.ts';
import { RunLockedError } from '../store/lock.ts';
import { RunCompleteError } from '../train/trainer.ts';
import { TripwireError } from '../train/tripwires.ts';
import { describeFailure } from './describe-failure.ts';
import { BadInputError, MissingRequirementError } from './exit-codes.ts';
import { InterruptedError } from './interrupt.ts';

test.each([
  [2, 'x', new BadInputError('x')],
  [2, 's.jsonl:1: x', new InputError('s.jsonl:1', 'x')],
  [2, 'x', new RunLockedError('x')],
  [2, 'the run already has its 3 steps; its weights are in c', new RunCompleteError(3, 'c')],
  [3, 'x', new MissingRequirementError('x')],
  [130, 'x', new InterruptedError('x')],
  [1, 'embedder failed: x', new FaultError('embedder', 'x')],
  [1, 'the run stopped itself: x', new TripwireError('x')],
  [2, 'port 80: is in use by another process; choose another', systemError('EADDRINUSE')],
  [1, 'port 80: no space left on the device; free some and go on', systemError('ENOSPC')],
])('%i: %s', (exitCode, text, error) => {
  expect(describeFailure(error)).toEqual({ exitCode, text });
});

test('a file that is not there is named', async () => {
  const error = await open('/no/such/file').catch((cause: unknown) => cause);
  expect(describeFailure(error)).toEqual({
    exitCode: 2,
    text: '/no/such/file: no such file or directory',
  });
});

test('a bug keeps its stack', () => {
  const { exitCode, text } = describeFailure(new Error('impossible'));
  expect(exitCode).toBe(1);
  expect(text).toMatch(/^this is a bug .*\nError: impossible\n {4}at /);
});

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: whatever`), { code, port: 80 });
}
