/** How a target of the bench runs: in a process of its own, telling its parent where it listens. */
import { fork } from 'node:child_process';
import type { Server } from 'node:http';
import { z } from 'zod';

const targetSchema = z.strictObject({
  url: z.string(),
  headers: z.record(z.string(), z.string()),
});
export type Target = z.infer<typeof targetSchema>;

export interface Child extends Disposable {
  readonly target: Target;
}

/** `file` is relative to this folder; it receives the upstream's chat URL as its first argument. */
export async function startChild(file: string, upstreamUrl: string): Promise<Child> {
  const child = fork(new URL(file, import.meta.url), [upstreamUrl], {
    execArgv: ['--import', 'tsx'],
  });
  const message = await new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}`)));
  });
  return { target: targetSchema.parse(message), [Symbol.dispose]: () => child.kill() };
}

export function announce(server: Server, targetAt: (port: number) => Target): void {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    tell(targetAt(address.port));
  });
}

export function tell(target: Target): void {
  if (process.send === undefined) throw new Error('to be started by the bench');
  process.send(target);
}

export function upstreamArgument(): string {
  const [, , url] = process.argv;
  if (url === undefined) throw new Error('the upstream URL is missing');
  return url;
}
