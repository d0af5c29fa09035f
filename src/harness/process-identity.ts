/** Which process is meant: a process id alone is used again, above all in containers. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

export const processIdentitySchema = z.object({
  pid: z.int().positive(),
  /** Clock ticks since boot, with the boot's id; empty where the system does not tell. */
  startedAt: z.string(),
});
export type ProcessIdentity = z.infer<typeof processIdentitySchema>;

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, startedAt: startOf(process.pid) };
}

/** Same id and, where the system tells it, same start. */
export function isAlive({ pid, startedAt }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    if (hasCode(cause, 'ESRCH')) return false;
    if (!hasCode(cause, 'EPERM')) throw cause;
  }
  return startOf(pid) === startedAt;
}

function startOf(pid: number): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${boot}:${stat.slice(stat.lastIndexOf(')')).split(' ')[20] ?? ''}`;
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return '';
    throw cause;
  }
}

function hasCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === code;
}
