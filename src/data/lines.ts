/** Lines of a large UTF-8 file, split at LF alone: node:readline would also split at U+2028, which JSON text may hold. */
import { createReadStream } from 'node:fs';
import { InputError } from './input-error.ts';

export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

const LF = 0x0a;

/** Streams; holds one line at a time. Throws `InputError` on bytes that are not UTF-8. A BOM and CR before LF are removed. */
export async function* readLines(file: string): AsyncGenerator<Line> {
  let pending: Buffer[] = [];
  let number = 0;
  const close = (): Line => {
    number += 1;
    const bytes = Buffer.concat(pending);
    pending = [];
    return { number, text: decode(bytes, `${file}:${number}`) };
  };
  const stream: AsyncIterable<Buffer> = createReadStream(file);
  for await (const block of stream) {
    let start = 0;
    for (let end = block.indexOf(LF); end !== -1; end = block.indexOf(LF, start)) {
      pending.push(block.subarray(start, end));
      yield close();
      start = end + 1;
    }
    if (start < block.length) pending.push(block.subarray(start));
  }
  if (pending.length > 0) yield close();
}

function decode(bytes: Uint8Array, where: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r$/, '');
  } catch (cause) {
    throw new InputError(where, 'is not UTF-8 text. Convert the file to UTF-8.', { cause });
  }
}
