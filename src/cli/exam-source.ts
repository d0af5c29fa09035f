/** From a data configuration to what a run needs: users with windows, and the probes and questions of each. */
import { attachItems } from '../artifact/attach.ts';
import { selectProbes } from '../artifact/select.ts';
import type { UserExam } from '../bench/evaluate.ts';
import type { UserStream } from '../core/annotation.ts';
import { CHUNK_DEFAULTS } from '../data/chunks.ts';
import { detectSource } from '../data/detect.ts';
import { readLocomo } from '../data/locomo.ts';
import { windowsOfStream } from '../data/windows.ts';
import { type WorldOptions, worldOptionsSchema, worldPresets } from '../world/options.ts';
import { createWorld } from '../world/world.ts';
import type { DataConfig } from './config.ts';
import { parseInput } from './config-file.ts';
import { BadInputError } from './exit-codes.ts';

export async function loadUserExams(
  data: DataConfig,
  countTokens: (text: string) => number,
): Promise<UserExam[]> {
  const streams = await loadStreams(data);
  return streams.map((stream) => {
    const windows = windowsOfStream(stream, { ...CHUNK_DEFAULTS, countTokens });
    const { artifacts } = attachItems(stream, windows);
    return { userId: stream.userId, artifacts: selectProbes(artifacts).artifacts };
  });
}

async function loadStreams(data: DataConfig): Promise<readonly UserStream[]> {
  switch (data.kind) {
    case 'world':
      return createWorld(worldOf(data));
    case 'locomo': {
      const streams = await readStreams(data.file);
      return data.conversations === undefined
        ? streams
        : data.conversations.map((index) => pickConversation(streams, index, data.file));
    }
    default:
      return data satisfies never;
  }
}

/** A preset with the fields that differ from it. */
export function worldOf({ preset, world }: Extract<DataConfig, { kind: 'world' }>): WorldOptions {
  return parseInput(
    worldOptionsSchema,
    { ...worldPresets[preset], ...world },
    { where: `data.world of preset ${preset}` },
  );
}

async function readStreams(file: string): Promise<readonly UserStream[]> {
  if ((await detectSource(file)) === 'locomo') return (await readLocomo(file)).streams;
  throw new BadInputError(
    `${file} is not a LoCoMo file. Sessions as JSONL hold no questions, so nothing in them can be scored: "memwriter data inspect" shows what a file holds`,
  );
}

function pickConversation(streams: readonly UserStream[], index: number, file: string): UserStream {
  const stream = streams[index];
  if (stream === undefined) {
    throw new BadInputError(
      `${file} has no conversation ${index}: choose from 0 to ${streams.length - 1}`,
    );
  }
  return stream;
}
