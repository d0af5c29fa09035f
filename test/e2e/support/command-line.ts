/** The spawned command line: one process for many commands, or one of its own that can be interrupted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const resultSchema = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exitCode: z.number(),
});
export type CommandResult = z.infer<typeof resultSchema>;

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const RUNNER = fileURLToPath(new URL('./command-runner.ts', import.meta.url));
const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));

export interface CommandLine extends AsyncDisposable {
  run(...argv: string[]): Promise<CommandResult>;
}

/** One command at a time. `cwd` stays the repository, so that relative paths in commands are the README's. */
export function startCommandLine(): CommandLine {
  const child = spawnNode([RUNNER], 'inherit');
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('the child has no pipes');
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return {
    run: async (...argv) => {
      stdin.write(`${JSON.stringify(argv)}\n`);
      const { value } = await lines.next();
      return resultSchema.parse(JSON.parse(String(value)));
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(child, 'close');
      stdin.end();
      await closed;
    },
  };
}

export interface Running {
  /** Resolves when the text has been printed to either stream; rejects when the process ends before. */
  printed(text: string): Promise<void>;
  /** The first line on standard output. */
  line(): Promise<string>;
  interrupt(): void;
  readonly ended: Promise<CommandResult>;
}

/** A process of its own. */
export function startCommand(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawnNode([MAIN, ...argv], 'pipe', env);
  const output = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const check of waiting) check();
    });
  }
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => {
    for (const check of waiting) check();
    if (typeof code !== 'number') throw new Error(`ended by ${String(signal)}: ${output.stderr}`);
    return { ...output, exitCode: code };
  });
  const until = (found: () => boolean, wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (found()) resolve();
        else if (child.exitCode !== null) {
          reject(new Error(`ended without printing ${wanted}: ${output.stderr}`));
        }
      };
      waiting.add(check);
      check();
    });
  return {
    printed: (text) =>
      until(() => [output.stdout, output.stderr].some((printed) => printed.includes(text)), text),
    line: async () => {
      await until(() => output.stdout.includes('\n'), 'a line');
      return output.stdout.slice(0, output.stdout.indexOf('\n'));
    },
    interrupt: () => {
      child.kill('SIGINT');
    },
    ended,
  };
}

function spawnNode(
  args: readonly string[],
  stderr: 'pipe' | 'inherit',
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', ...args], {
    cwd: REPOSITORY,
    stdio: ['pipe', 'pipe', stderr],
    env: { ...process.env, ...env },
  });
}
