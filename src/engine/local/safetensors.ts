/** The safetensors file format: named float tensors behind a JSON header that is checked before a byte is believed. */
import { type FileHandle, open } from 'node:fs/promises';
import { z } from 'zod';
import { UserError } from '../../lib/user-error.ts';
import {
  bfloat16ToFloat32,
  float16ToFloat32,
  float32ToBfloat16,
  float32ToFloat16,
} from './half.ts';

export interface Tensor {
  readonly shape: readonly number[];
  /** Row-major; one number per element. */
  readonly data: Float32Array;
}
export type TensorDtype = 'F32' | 'F16' | 'BF16';

export interface TensorFile {
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

const MAX_HEADER_BYTES = 100_000_000;
const BYTES: Readonly<Record<TensorDtype, number>> = { F32: 4, F16: 2, BF16: 2 };

const entrySchema = z.strictObject({
  dtype: z.enum(['F32', 'F16', 'BF16']),
  shape: z.array(z.int().nonnegative()),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});
type Entry = z.infer<typeof entrySchema>;
const headerSchema = z.record(z.string(), z.unknown());
const metadataSchema = z.record(z.string(), z.string()).default({});

/** Rejects with one sentence that names the file when it is truncated, has holes, or is something else. */
export async function readSafetensors(file: string): Promise<TensorFile> {
  await using handle = await open(file, 'r');
  const { size } = await handle.stat();
  const headerBytes = await readHeaderLength(handle, size, file);
  const { entries, metadata } = parseHeader(await readExactly(handle, 8, headerBytes), file);
  checkOffsets(entries, size - 8 - headerBytes, file);
  const tensors = new Map<string, Tensor>();
  for (const [name, { dtype, shape, data_offsets: offsets }] of entries) {
    const bytes = await readExactly(handle, 8 + headerBytes + offsets[0], offsets[1] - offsets[0]);
    tensors.set(name, { shape, data: decode(bytes, dtype) });
  }
  return { tensors, metadata };
}

/** Writes and flushes to disk. Throws before writing when a value does not fit the type. */
export async function writeSafetensors(
  file: string,
  tensors: ReadonlyMap<string, Tensor>,
  options: { readonly dtype: TensorDtype; readonly metadata?: Readonly<Record<string, string>> },
): Promise<void> {
  const { dtype } = options;
  const names = [...tensors.keys()].sort();
  const header: Record<string, unknown> = {
    __metadata__: { format: 'pt', ...options.metadata },
  };
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const name of names) {
    const { shape, data } = tensors.get(name) as Tensor;
    if (elements(shape) !== data.length) {
      throw new Error(`tensor ${name} has shape [${shape}] but ${data.length} elements`);
    }
    const end = offset + data.length * BYTES[dtype];
    header[name] = { dtype, shape, data_offsets: [offset, end] };
    parts.push(encode(data, dtype, name));
    offset = end;
  }
  const text = JSON.stringify(header);
  const headerText = Buffer.from(text.padEnd(Math.ceil(Buffer.byteLength(text) / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(headerText.length));
  await using handle = await open(file, 'w');
  for (const part of [length, headerText, ...parts]) await handle.writeFile(part);
  await handle.sync();
}

async function readHeaderLength(handle: FileHandle, size: number, file: string): Promise<number> {
  if (size < 8) throw new UserError(`${file} is truncated: ${size} bytes cannot hold a header`);
  const length = (await readExactly(handle, 0, 8)).readBigUInt64LE();
  if (length > BigInt(MAX_HEADER_BYTES)) {
    throw new UserError(`${file} is not a safetensors file: its header claims ${length} bytes`);
  }
  if (8n + length > BigInt(size)) {
    throw new UserError(`${file} is truncated: its header needs ${length} bytes of ${size - 8}`);
  }
  return Number(length);
}

function parseHeader(
  bytes: Buffer,
  file: string,
): { entries: [string, Entry][]; metadata: Record<string, string> } {
  try {
    const { __metadata__: metadata, ...rest } = headerSchema.parse(
      JSON.parse(bytes.toString('utf8')),
    );
    const entries = Object.entries(rest).map(([name, value]): [string, Entry] => [
      name,
      entrySchema.parse(value, {
        error: () => `tensor ${name} is not described as F32, F16 or BF16`,
      }),
    ]);
    return { entries, metadata: metadataSchema.parse(metadata) };
  } catch (cause) {
    const why = cause instanceof z.ZodError ? cause.issues[0]?.message : 'it is not JSON';
    throw new UserError(`${file} has a bad safetensors header: ${why}`, { cause });
  }
}

/** Offsets must cover the data area once, without holes, and agree with the shapes. */
function checkOffsets(entries: readonly [string, Entry][], dataBytes: number, file: string): void {
  let expected = 0;
  const sorted = [...entries].sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  for (const [name, { dtype, shape, data_offsets: offsets }] of sorted) {
    const bytes = elements(shape) * BYTES[dtype];
    if (offsets[0] !== expected || offsets[1] - offsets[0] !== bytes) {
      throw new UserError(
        `${file} has a bad safetensors header: offsets of ${name} do not fit its shape`,
      );
    }
    expected = offsets[1];
  }
  if (expected > dataBytes) {
    throw new UserError(
      `${file} is truncated: it holds ${dataBytes} of ${expected} bytes of tensors`,
    );
  }
  if (expected < dataBytes) {
    throw new UserError(`${file} has ${dataBytes - expected} bytes after its last tensor`);
  }
}

async function readExactly(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0)
      throw new Error(`file ended ${length - done} bytes early while being read`);
    done += bytesRead;
  }
  return buffer;
}

function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function decode(bytes: Buffer, dtype: TensorDtype): Float32Array {
  const aligned = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  if (dtype === 'F32') return new Float32Array(aligned);
  const convert = dtype === 'F16' ? float16ToFloat32 : bfloat16ToFloat32;
  return Float32Array.from(new Uint16Array(aligned), convert);
}

function encode(data: Float32Array, dtype: TensorDtype, name: string): Uint8Array {
  if (dtype === 'F32') return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const convert = dtype === 'F16' ? float32ToFloat16 : float32ToBfloat16;
  const halves = Uint16Array.from(data, convert);
  if (dtype === 'F16' && data.some((value) => Math.abs(value) >= 65_520)) {
    throw new Error(`tensor ${name} has a value too large for half precision`);
  }
  return new Uint8Array(halves.buffer);
}
