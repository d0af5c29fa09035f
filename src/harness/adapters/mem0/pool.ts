/** Keeps idle bank workers warm: a thread costs half a second of CPU to load the SDK, a reused one nothing. */
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeOwnedDirectory, sweepAbandoned } from '../../owned-directory.ts';
import { WorkerThread } from './worker-thread.ts';

export interface WorkerPool extends AsyncDisposable {
  acquire(): WorkerThread;
  /** Only of a worker whose bank is closed; a dead one, or one too many, is ended. */
  release(worker: WorkerThread): Promise<void>;
}

const STATE_PREFIX = 'memwriter-mem0-';

export async function createWorkerPool(maxIdle: number): Promise<WorkerPool> {
  await sweepAbandoned(tmpdir(), STATE_PREFIX);
  const stateDir = makeOwnedDirectory(tmpdir(), STATE_PREFIX);
  // With an identity at hand the SDK writes nothing of its own.
  await writeFile(join(stateDir, 'config.json'), '{"user_id":"memwriter"}');
  const idle: WorkerThread[] = [];
  const all = new Set<WorkerThread>();
  const end = async (worker: WorkerThread): Promise<void> => {
    all.delete(worker);
    await worker.terminate();
  };
  return {
    acquire: () => {
      const warm = idle.pop();
      if (warm?.alive) return warm;
      const worker = new WorkerThread(stateDir);
      all.add(worker);
      return worker;
    },
    release: async (worker) => {
      if (worker.alive && idle.length < maxIdle) idle.push(worker);
      else await end(worker);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...all].map(end));
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
