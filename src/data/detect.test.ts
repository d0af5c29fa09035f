/** A file is known by its content. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createScratch } from '../testing/scratch.ts';
import { detectSource } from './detect.ts';

test.each([
  ['locomo', '[{"qa":[],"conversation":{},"sample_id":"conv-26"}]'],
  ['locomo', '\uFEFF[\n  {\n    "sample_id": "conv-26",\n'],
  ['jsonl', '{"user":"ann","at":"2024-05-08T20:15:00Z","messages":[]}\n'],
  ['jsonl', '[{"user":"ann","messages":[{"content":"conversation: none"}]}]'],
  ['jsonl', ''],
  ['jsonl', '%PDF-1.7 "qa":'],
])('%s: %s', async (kind, text) => {
  await using scratch = await createScratch();
  const file = join(scratch.path, 'file');
  await writeFile(file, text);
  expect(await detectSource(file)).toBe(kind);
});
