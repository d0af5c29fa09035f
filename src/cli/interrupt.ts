/** Ctrl-C asks for an orderly end: the write in hand finishes, nothing is lost; a second Ctrl-C ends at once. */
import { EXIT } from './exit-codes.ts';

export interface Interrupt extends Disposable {
  readonly signal: AbortSignal;
}

export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

export function catchInterrupt(howToResume: string): Interrupt {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    process.stderr.write(
      `\nstopping after the write in hand (again to stop at once); ${howToResume}\n`,
    );
    controller.abort(new InterruptedError(howToResume));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
