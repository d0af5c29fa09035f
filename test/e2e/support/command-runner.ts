/** Runs command lines one after the other in one process, since a start costs a second: JSON lines in, JSON lines out. */
import { createInterface } from 'node:readline';
import { runCommandLine } from '../../../src/cli/program.ts';

const print = process.stdout.write.bind(process.stdout);
const captured = { stdout: '', stderr: '' };

for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (chunk: Uint8Array | string): boolean => {
    captured[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    return true;
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  captured.stdout = '';
  captured.stderr = '';
  process.exitCode = 0;
  await runCommandLine(JSON.parse(line));
  print(`${JSON.stringify({ ...captured, exitCode: process.exitCode })}\n`);
}
process.exitCode = 0;
