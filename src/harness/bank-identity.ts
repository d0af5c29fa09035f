/** What a bank was built with: another framework version or embedder would read it wrongly, often without a word. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { FaultError } from '../core/outcome.ts';

export const IDENTITY_FILE = 'bank.json';

const identitySchema = z.strictObject({
  framework: z.string(),
  embeddingModel: z.string(),
  embeddingDimensions: z.int().positive(),
});
export type BankIdentity = z.infer<typeof identitySchema>;

/** Writes a new bank's identity; rejects with a `FaultError` of boundary `store` where an old one has another. */
export async function claimIdentity(dir: string, identity: BankIdentity): Promise<void> {
  const path = join(dir, IDENTITY_FILE);
  const text = JSON.stringify(identity);
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause;
    const written = identitySchema.parse(JSON.parse(await readFile(path, 'utf8')));
    if (JSON.stringify(written) === text) return;
    throw new FaultError('store', `${dir} was built with ${JSON.stringify(written)}, not ${text}`);
  }
}
