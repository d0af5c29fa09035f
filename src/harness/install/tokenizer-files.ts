/** The vocabularies that frameworks would download on first use, rebuilt from the package index. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { sha256 } from '../../lib/hash.ts';
import { UserError } from '../../lib/user-error.ts';
import type { PythonEnvironment } from '../bridge/contract.ts';
import { type CommandOptions, runCommand } from './run-command.ts';

type Encoding = PythonEnvironment['tiktoken'][number];

/** Holds the same ranks as tiktoken's files, in another notation. */
const PACKAGE = 'js-tiktoken@1.0.21';
const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm';

/** The name that tiktoken gives a cached file, and the hash that it asks of it. */
const FILES: Readonly<Record<Encoding, { readonly name: string; readonly sha256: string }>> = {
  cl100k_base: {
    name: '9b5ad71b2ce5302211f9c61530b329a4922fc6a4',
    sha256: '223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7',
  },
  o200k_base: {
    name: 'fb374d419588a4632f3f557e76b4b70aebbca790',
    sha256: '446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d',
  },
};

const ranksSchema = z.object({ default: z.object({ bpe_ranks: z.string() }) });

/** Writes `<directory>/<file>` for each encoding. */
export async function writeTokenizerFiles(
  encodings: readonly Encoding[],
  directory: string,
  options: CommandOptions = {},
): Promise<void> {
  if (encodings.length === 0) return;
  await mkdir(directory, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), 'memwriter-tokenizer-'));
  try {
    await runCommand(NPM, ['pack', '--silent', PACKAGE], { ...options, cwd: work });
    await runCommand('tar', ['-xzf', `${PACKAGE.replace('@', '-')}.tgz`], {
      ...options,
      cwd: work,
    });
    for (const encoding of encodings) {
      const module = join(work, 'package', 'dist', 'ranks', `${encoding}.js`);
      const loaded = ranksSchema.parse(await import(pathToFileURL(module).href));
      const body = renderRanks(loaded.default.bpe_ranks);
      const { name, sha256: expected } = FILES[encoding];
      if (sha256(body) !== expected) {
        throw new UserError(`${PACKAGE} holds another ${encoding} than tiktoken expects`);
      }
      await writeFile(join(directory, name), body);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** One `token rank` a line, by rank; the source has lines of `! first-rank token token …`. */
export function renderRanks(ranks: string): string {
  const entries = ranks
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const [, first, ...tokens] = line.split(' ');
      return tokens.map((token, i): [number, string] => [Number(first) + i, token]);
    });
  return entries
    .sort(([a], [b]) => a - b)
    .map(([rank, token]) => `${token} ${rank}\n`)
    .join('');
}
