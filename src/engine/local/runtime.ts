/** Chooses what runs the graphs: the native runtime, or plain TypeScript where it cannot be loaded, said out loud. */
import { createOrtExecutor } from './execute-ort.ts';
import { createTypescriptExecutor } from './execute-typescript.ts';
import type { Executor } from './executor.ts';

export interface RuntimeOptions {
  /** Native threads of one run. */
  readonly threads: number;
  /** Told in one sentence when the fast path is not available. */
  readonly warn: (message: string) => void;
}

/** Loads the runtime at the first call; later calls get the same one. */
export function lazyExecutor(
  { threads, warn }: RuntimeOptions,
  load: () => Promise<Executor> = () => createOrtExecutor({ threads }),
): () => Promise<Executor> {
  let executor: Promise<Executor> | undefined;
  return () => {
    executor ??= load().catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      warn(
        `onnxruntime-node cannot be loaded, so the engine runs about 30 times slower: ${reason}`,
      );
      return createTypescriptExecutor({ precision: 'single' });
    });
    return executor;
  };
}
