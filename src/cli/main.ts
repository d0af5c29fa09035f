#!/usr/bin/env node
/** What `memwriter` runs. */
import { EXIT } from './exit-codes.ts';
import { runCommandLine } from './program.ts';

/** A reader such as `head` that has seen enough is no failure: results end there, progress goes on unseen. */
process.stdout.on('error', (error) => {
  if (!isClosedPipe(error)) throw error;
  process.exit(EXIT.ok);
});
process.stderr.on('error', (error) => {
  if (!isClosedPipe(error)) throw error;
});

await runCommandLine(process.argv.slice(2));

function isClosedPipe(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}
