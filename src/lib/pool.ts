/** The one concurrency limiter: everything is submitted at once, and a failure never leaves work running behind it. */
import pLimit from 'p-limit';

export interface Pool {
  run<T>(task: () => Promise<T>): Promise<T>;
}

/** At most `concurrency` tasks at a time, in order of submission. */
export function createPool(concurrency: number): Pool {
  const limit = pLimit(concurrency);
  return { run: (task) => limit(task) };
}

/** Runs a task for every value; waits for all of them before the first failure is thrown. */
export async function mapAll<T, R>(
  values: readonly T[],
  task: (value: T, index: number) => Promise<R>,
): Promise<R[]> {
  const settled = await Promise.allSettled(values.map(task));
  return settled.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
