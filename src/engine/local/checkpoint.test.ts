import { mkdir, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Checkpoint, loadCheckpoint, saveCheckpoint } from './checkpoint.ts';
import {
  bfloat16ToFloat32,
  float16ToFloat32,
  float32ToBfloat16,
  float32ToFloat16,
} from './half.ts';
import { readSafetensors, type Tensor, writeSafetensors } from './safetensors.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-checkpoint-'));
});
afterEach(() => rm(root, { recursive: true }));

const tensor = (values: readonly number[], shape = [values.length]): Tensor => ({
  shape,
  data: Float32Array.from(values),
});
const WEIGHTS = new Map([
  ['model.embed_tokens.weight', tensor([0.5, -1, 2, 0.25], [2, 2])],
  ['model.norm.weight', tensor([1, 1])],
]);
const checkpoint = (update: number): Checkpoint => ({
  config: { model_type: 'llama', vocab_size: 2 },
  tensors: WEIGHTS,
  language: new Map([['tokenizer.json', '{}\n']]),
  optimiser: new Map([['first.model.norm.weight', tensor([0.125, 1e-20])]]),
  trainer: { update },
});

test('every half that is a number survives float32 and back', () => {
  const halves = Array.from({ length: 65_536 }, (_, half) => half);
  const lossy = (widen: (half: number) => number, narrow: (value: number) => number): number[] =>
    halves.filter((half) => !Number.isNaN(widen(half)) && narrow(widen(half)) !== half);
  expect(lossy(float16ToFloat32, float32ToFloat16)).toEqual([]);
  expect(lossy(bfloat16ToFloat32, float32ToBfloat16)).toEqual([]);
  expect(float16ToFloat32(float32ToFloat16(Number.NaN))).toBeNaN();
  expect(bfloat16ToFloat32(float32ToBfloat16(Number.NaN))).toBeNaN();
});

test('rounding goes to the nearest half, ties to even', () => {
  expect(float32ToFloat16(1 + 2 ** -11)).toBe(0x3c00);
  expect(float32ToFloat16(1 + 3 * 2 ** -11)).toBe(0x3c02);
  expect(float32ToFloat16(65_519)).toBe(0x7bff);
  expect(float32ToFloat16(65_520)).toBe(0x7c00);
  expect(float32ToFloat16(2 ** -25)).toBe(0);
  expect(float32ToFloat16(-1.5 * 2 ** -24)).toBe(0x8002);
  fc.assert(
    fc.property(fc.float({ min: -60_000, max: 60_000, noNaN: true }), (number) => {
      const error = Math.abs(float16ToFloat32(float32ToFloat16(number)) - number);
      expect(error).toBeLessThanOrEqual(Math.max(Math.abs(number) * 2 ** -11, 2 ** -25));
    }),
  );
});

test('tensors come back as written', async () => {
  const file = join(root, 'x.safetensors');
  const metadata = { note: 'ü' };
  await writeSafetensors(file, WEIGHTS, { dtype: 'F32', metadata });
  const back = await readSafetensors(file);
  expect(back.tensors).toEqual(WEIGHTS);
  expect(back.metadata).toMatchObject(metadata);
  await writeSafetensors(file, WEIGHTS, { dtype: 'BF16' });
  expect((await readSafetensors(file)).tensors).toEqual(WEIGHTS);
  const large = new Map([['w', tensor([70_000])]]);
  await expect(writeSafetensors(file, large, { dtype: 'F16' })).rejects.toThrow(
    /tensor w .*too large/,
  );
});

test('a file cut at any byte is refused and named', async () => {
  const file = join(root, 'x.safetensors');
  await writeSafetensors(file, WEIGHTS, { dtype: 'F32' });
  const { length } = await readFile(file);
  for (const size of [0, 7, 8, 40, length - 1].toReversed()) {
    await truncate(file, size);
    await expect(readSafetensors(file)).rejects.toThrow(/x\.safetensors is truncated/);
  }
});

test.each([
  ['{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', /offsets of w do not fit/],
  ['{"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}', /offsets of w do not fit/],
  ['{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', /4 bytes after its last tensor/],
  ['{"w":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}', /w is not described as F32/],
  ['not json', /it is not JSON/],
])('header %s is refused', async (header, message) => {
  const file = join(root, 'x.safetensors');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeFile(file, Buffer.concat([length, Buffer.from(header), Buffer.alloc(8)]));
  await expect(readSafetensors(file)).rejects.toThrow(message);
});

test('a checkpoint comes back whole, and a second save replaces the first', async () => {
  const directory = join(root, 'policy');
  await saveCheckpoint(directory, checkpoint(1));
  await saveCheckpoint(directory, checkpoint(2));
  const back = await loadCheckpoint(directory);
  expect(back).toEqual({
    ...checkpoint(2),
    config: { ...checkpoint(2).config, dtype: 'float32', torch_dtype: 'float32' },
  });
});

test('a save killed before, between or after its renames leaves a whole checkpoint', async () => {
  const directory = join(root, 'policy');
  await saveCheckpoint(directory, checkpoint(1));
  await mkdir(`${directory}.saving`);
  await writeFile(join(`${directory}.saving`, 'config.json'), '{"model_');
  expect((await loadCheckpoint(directory)).trainer).toEqual({ update: 1 });
  await rename(directory, `${directory}.previous`);
  expect((await loadCheckpoint(directory)).trainer).toEqual({ update: 1 });
  await saveCheckpoint(`${directory}.previous`, checkpoint(0));
  expect((await loadCheckpoint(directory)).trainer).toEqual({ update: 1 });
  await saveCheckpoint(directory, checkpoint(2));
  expect((await loadCheckpoint(directory)).trainer).toEqual({ update: 2 });
});

test('shards are gathered by their index; a tensor that no shard holds is named', async () => {
  const directory = join(root, 'policy');
  await saveCheckpoint(directory, checkpoint(1));
  await rm(join(directory, 'model.safetensors'));
  await expect(loadCheckpoint(directory)).rejects.toThrow(/has no weights/);
  const weightMap: Record<string, string> = {};
  for (const [i, [name, value]] of [...WEIGHTS].entries()) {
    weightMap[name] = `model-${i}.safetensors`;
    const file = join(directory, `model-${i}.safetensors`);
    await writeSafetensors(file, new Map([[name, value]]), { dtype: 'F32' });
  }
  const index = join(directory, 'model.safetensors.index.json');
  await writeFile(index, JSON.stringify({ weight_map: weightMap }));
  expect((await loadCheckpoint(directory)).tensors).toEqual(WEIGHTS);
  await writeFile(
    index,
    JSON.stringify({ weight_map: { ...weightMap, absent: 'model-0.safetensors' } }),
  );
  await expect(loadCheckpoint(directory)).rejects.toThrow(/promises absent in model-0/);
});
