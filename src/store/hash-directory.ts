/** Identity of a directory: the names and contents of all its files. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { hashJson, sha256 } from '../lib/hash.ts';
import { UserError } from '../lib/user-error.ts';

export async function hashDirectory(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (files.length === 0) throw new UserError(`${directory} holds no file`);
  const hashes: [string, string][] = [];
  for (const file of files) hashes.push([relative(directory, file), sha256(await readFile(file))]);
  return hashJson(hashes);
}
