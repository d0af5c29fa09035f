/** A child process that must succeed; what it said last is the error's text. */
import { spawn } from 'node:child_process';

/** The command started and refused: its own words say why. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

/** Resolves to the end of what it printed. Settles when the process is gone, an aborted one too. */
export type RunCommand = (
  command: string,
  args: readonly string[],
  options?: CommandOptions,
) => Promise<string>;

const LAST_CHARACTERS = 2000;

export const runCommand: RunCommand = (command, args, { cwd, signal } = {}) =>
  new Promise((resolve, reject) => {
    let said = '';
    const child = spawn(command, args, { cwd, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-LAST_CHARACTERS);
      });
    }
    child.once('error', (cause) => {
      // An aborted child still writes until it is closed, and what it writes is about to be removed.
      if (child.pid === undefined || signal?.aborted !== true) reject(cause);
    });
    child.once('close', (code) => {
      if (signal?.aborted === true) reject(signal.reason);
      else if (code === 0) resolve(said);
      else
        reject(
          new CommandError(`${command} ${args.join(' ')} ended with code ${code}:\n${said.trim()}`),
        );
    });
  });
