/** Which kind of file somebody gave us, by what is in it: names and endings say nothing reliable. */
import { open } from 'node:fs/promises';

export type SourceKind = 'locomo' | 'jsonl';

const HEAD_BYTES = 65_536;
/** The keys of a LoCoMo conversation, which its file lists in one array. */
const LOCOMO = /^\s*\[\s*\{.*?"(?:qa|conversation|sample_id)"\s*:/s;

/** Reads the beginning only. Anything that is not a LoCoMo file is taken for JSONL, whose reader says what is wrong. */
export async function detectSource(file: string): Promise<SourceKind> {
  await using handle = await open(file, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  const head = buffer
    .subarray(0, bytesRead)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
  return LOCOMO.test(head) ? 'locomo' : 'jsonl';
}
