/** Where working banks lie: where the environment says, else where they are fastest. */
import { scratchParent } from '../harness/scratch.ts';

export async function scratchDirectory(): Promise<string> {
  return process.env['MEMWRITER_SCRATCH'] ?? (await scratchParent());
}
