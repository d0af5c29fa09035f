/** A hop's failure is blamed on the hop: an exam's endpoint is the reader or the judge, whatever the client calls it. */
import { type Boundary, FaultError } from '../core/outcome.ts';

export async function blame<T>(boundary: Boundary, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (!(cause instanceof FaultError) || cause.boundary === boundary) throw cause;
    throw new FaultError(boundary, cause.message, { cause });
  }
}
