/** Who may import whom. The table is the documentation; this test is the guard. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  lib: [],
  reward: ['core'],
  credit: ['core'],
  store: ['core', 'lib'],
  llm: ['core', 'lib'],
  tokens: ['core', 'lib'],
  data: ['core', 'lib'],
  world: ['core', 'lib'],
  engine: ['core', 'lib', 'tokens'],
  harness: ['core', 'lib', 'llm'],
  artifact: ['core', 'lib', 'llm'],
  exam: ['core', 'lib', 'llm'],
  gateway: ['core', 'lib', 'llm', 'tokens', 'engine/contract.ts'],
  rollout: ['core', 'lib', 'gateway', 'harness/contract.ts', 'harness/fork.ts'],
  train: [
    'core',
    'lib',
    'store',
    'rollout',
    'exam',
    'reward',
    'credit',
    'engine/contract.ts',
    'gateway/contract.ts',
    'harness/contract.ts',
  ],
  conformance: [
    'core',
    'lib',
    'gateway/contract.ts',
    'harness/contract.ts',
    'harness/fork.ts',
    'rollout',
    'testing/scripted-upstream.ts',
  ],
  bench: ['core', 'lib', 'store', 'data', 'rollout', 'exam', 'reward'],
  testing: ['core', 'lib', 'llm', 'tokens', 'engine', 'gateway', 'harness', 'exam'],
  cli: ['*'],
};

const EXTERNAL: Readonly<Record<string, readonly string[]>> = {
  core: ['zod'],
  lib: ['p-limit'],
  reward: ['zod'],
  credit: ['zod'],
  store: ['zod', 'proper-lockfile'],
  llm: ['zod', 'eventsource-parser', 'undici'],
  tokens: ['zod', '@huggingface/tokenizers', '@huggingface/jinja'],
  data: ['zod'],
  world: ['zod'],
  bench: ['zod'],
  testing: ['zod'],
  conformance: ['zod'],
  engine: ['zod', 'onnxruntime-node', 'onnxruntime-common'],
  harness: ['zod', 'mem0ai', 'better-sqlite3'],
  exam: ['zod'],
  artifact: ['zod'],
  gateway: ['zod', 'hono', '@hono/node-server'],
  train: ['zod'],
  cli: ['*'],
};

const IMPORT = /(?:^(?:import|export)\s[^;]*?from\s+|\bimport\()\s*'([^']+)'/gms;

function sourceFiles(): string[] {
  return readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter(
      (file) => file.endsWith('.ts') && !/\.test\.ts$|\/testing\//.test(file) && file.includes('/'),
    )
    .sort();
}

function isAllowed(file: string, specifier: string): boolean {
  const folder = file.split('/')[0] ?? '';
  if (specifier.startsWith('node:')) return folder !== 'core';
  if (!specifier.startsWith('.')) {
    const allowed = EXTERNAL[folder] ?? [];
    return allowed.includes('*') || allowed.some((name) => `${specifier}/`.startsWith(`${name}/`));
  }
  const target = normalize(join(file, '..', specifier));
  const allowed = MAY_IMPORT[folder] ?? [];
  return (
    allowed.includes('*') ||
    target.startsWith(`${folder}/`) ||
    allowed.includes(target) ||
    allowed.includes(target.split('/')[0] ?? '')
  );
}

test('every import goes down the table', () => {
  const violations = sourceFiles().flatMap((file) =>
    [...readFileSync(join('src', file), 'utf8').matchAll(IMPORT)]
      .map((match) => match[1] ?? '')
      .filter((specifier) => !isAllowed(file, specifier))
      .map((specifier) => `${file} must not import ${specifier}`),
  );
  expect(violations).toEqual([]);
});

test('every folder of src has a row in the table', () => {
  const folders = new Set(sourceFiles().map((file) => file.split('/')[0] ?? ''));
  expect([...folders].filter((folder) => !(folder in MAY_IMPORT))).toEqual([]);
});
