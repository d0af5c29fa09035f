/** What a file, `--set` and defaults make together, and how a mistake in them reads. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createScratch } from '../testing/scratch.ts';
import { rlConfigSchema } from './config.ts';
import { loadConfig } from './config-file.ts';
import { flatten } from './flatten.ts';

const schema = z.strictObject({
  name: z.string().default('none'),
  rl: z.strictObject({ rate: z.number(), arms: z.array(z.string()) }).optional(),
});
const help = 'memwriter config';

test('--set wins over the file, and the file over the defaults', async () => {
  await using scratch = await createScratch();
  const file = join(scratch.path, 'config.json');
  await writeFile(file, '{"name":"file","rl":{"rate":1,"arms":[]}}');
  const set = ['rl.rate=0.5', 'rl.arms=["a"]'];
  expect(loadConfig(schema, { file, set, defaults: { name: 'default' }, help })).toEqual({
    name: 'file',
    rl: { rate: 0.5, arms: ['a'] },
  });
});

test('a value that is not JSON is text', () => {
  expect(loadConfig(schema, { set: ['name=models/base'], help }).name).toBe('models/base');
});

test('every mistake is named with its key, and the command that lists all keys', () => {
  const set = ['rl.rate=fast', 'rl.arms=3', 'nam=x'];
  expect(() => loadConfig(schema, { set, help })).toThrow(
    /rl\.rate: .*number.*; rl\.arms: .*array.*; Unrecognized key: "nam"\. .*memwriter config/,
  );
});

test('flattened values come back through --set', () => {
  const value = { name: 'a b', rl: { rate: 0.25, arms: ['x', 'y'] } };
  const set = flatten(value).map(([key, text]) => `${key}=${text}`);
  expect(loadConfig(schema, { set, help })).toEqual(value);
});

describe('a preset of train rl', () => {
  const load = (...set: string[]) =>
    loadConfig(rlConfigSchema, {
      set: ['data.kind=world', 'train.steps=1', 'train.configurations=["mem0"]', ...set],
      help,
    }).train.credit;

  test('decides whatever the configuration leaves open', () => {
    expect(load().normaliser).toBe('floored');
    expect(load('train.preset=article').normaliser).toBe('article');
    expect(load('train.preset=article', 'train.credit.normaliser=mean').normaliser).toBe('mean');
  });
});
