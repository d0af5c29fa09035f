/** Where the package's own files are, from sources and from the build alike. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** `src/cli` and `dist/cli` lie equally deep. */
export const PACKAGE_ROOT = fileURLToPath(new URL('../..', import.meta.url));

const manifestSchema = z.object({
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
});
const manifest = manifestSchema.parse(
  JSON.parse(readFileSync(`${PACKAGE_ROOT}package.json`, 'utf8')),
);

export const PACKAGE_VERSION = manifest.version;

/** Exact versions by package name, as this version of memwriter was tested with. */
export const PINNED: Readonly<Record<string, string>> = {
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
};
