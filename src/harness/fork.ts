/** A fork is a copy of a closed bank's directory: whole or not there, and never of a bank that is open. */
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { boundary, FaultError } from '../core/outcome.ts';
import { isBankLocked, LOCK_FILE } from './bank-lock.ts';

/** `to` must not exist. Blocks are shared where the file system can. Rejects with a `FaultError` of boundary `store`. */
export async function forkBank(from: string, to: string): Promise<void> {
  await boundary('store', async () => {
    await refuseOpen(from);
    const draft = `${to}.${crypto.randomUUID()}.partial`;
    try {
      await mkdir(dirname(to), { recursive: true });
      await copyDirectory(from, draft);
      await refuseOpen(from);
      await refuseExisting(to);
      await rename(draft, to);
    } catch (cause) {
      await rm(draft, { recursive: true, force: true });
      throw cause;
    }
  });
}

async function refuseOpen(dir: string): Promise<void> {
  if (await isBankLocked(dir)) throw new FaultError('store', `the bank in ${dir} is open`);
}

/** `rename` onto an empty directory would replace it. */
async function refuseExisting(to: string): Promise<void> {
  const siblings = await readdir(dirname(to));
  if (siblings.some((name) => join(dirname(to), name) === join(to))) {
    throw new FaultError('store', `${to} exists already`);
  }
}

async function copyDirectory(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true });
  await mkdir(to);
  await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith(LOCK_FILE))
      .map(async (entry) => {
        const [source, target] = [join(from, entry.name), join(to, entry.name)];
        if (entry.isDirectory()) await copyDirectory(source, target);
        else await copyFile(source, target, constants.COPYFILE_FICLONE);
      }),
  );
}
