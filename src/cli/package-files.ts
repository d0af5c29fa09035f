/** Where the package's own files are, from sources and from the build alike. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** `src/cli` and `dist/cli` lie equally deep. */
export const PACKAGE_ROOT = fileURLToPath(new URL('../..', import.meta.url));

const manifestSchema = z.object({ version: z.string() });

export const PACKAGE_VERSION = manifestSchema.parse(
  JSON.parse(readFileSync(`${PACKAGE_ROOT}package.json`, 'utf8')),
).version;
