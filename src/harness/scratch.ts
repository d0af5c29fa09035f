/** Where working banks are fastest: SQLite waits for the disk several times a write, and memory-backed storage does not. */
import { access, constants, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';

const MEMORY_BACKED = '/dev/shm';

/** `/dev/shm` where it exists and has `minFreeBytes`, else the system's temporary directory. */
export async function scratchParent(minFreeBytes = 512 * 2 ** 20): Promise<string> {
  try {
    await access(MEMORY_BACKED, constants.W_OK);
    const { bavail, bsize } = await statfs(MEMORY_BACKED);
    return bavail * bsize >= minFreeBytes ? MEMORY_BACKED : tmpdir();
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause) return tmpdir();
    throw cause;
  }
}
