/** A step's rollouts on disk: one fact in one file, times apart, so that equal runs are equal bytes. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import type { CreditedRollout } from '../core/trace.ts';
import { sha256 } from '../lib/hash.ts';
import { UserError } from '../lib/user-error.ts';
import { placeDirectory } from './durable.ts';
import { storedResultSchema, storedRolloutSchema, storedTimesSchema } from './schema.ts';

const FILES = { rollouts: 'rollouts.jsonl', results: 'results.jsonl', times: 'times.jsonl' };

/** Replaces whatever a killed attempt left there. Returns the sha256 of each file that holds no times. */
export async function writeStepFiles(
  directory: string,
  rollouts: readonly CreditedRollout[],
): Promise<Record<string, string>> {
  const texts = {
    [FILES.rollouts]: toLines(rollouts.map(withoutTimes)),
    [FILES.results]: toLines(rollouts.map((rollout) => storedResultSchema.parse(rollout))),
  };
  const times = toLines(rollouts.map(timesOf));
  await placeDirectory(directory, async (temporary) => {
    for (const [name, text] of Object.entries({ ...texts, [FILES.times]: times })) {
      await writeFile(join(temporary, name), text);
    }
  });
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, sha256(text)]));
}

/** Throws where a file is missing or is not the one that the step's line names. */
export async function verifyStepFiles(
  directory: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, expected] of Object.entries(files)) {
    const path = join(directory, name);
    if (sha256(await readFile(path)) !== expected) {
      throw new UserError(
        `${path} is not the file that the step committed: restore it or start anew`,
      );
    }
  }
}

export async function readStepFiles(directory: string): Promise<CreditedRollout[]> {
  const rollouts = await readLines(join(directory, FILES.rollouts), storedRolloutSchema);
  const results = await readLines(join(directory, FILES.results), storedResultSchema);
  const times = await readLines(join(directory, FILES.times), storedTimesSchema);
  if (results.length !== rollouts.length || times.length !== rollouts.length) {
    throw new UserError(`${directory}: its files do not have one line per rollout`);
  }
  return rollouts.map((rollout, i): CreditedRollout => {
    const writes_T = rollout.writes_T.map((write, t) => ({
      ...write,
      calls: write.calls.map((call, c) => {
        const durationMs = times[i]?.durationsMs_TC[t]?.[c];
        if (durationMs === undefined)
          throw new UserError(`${directory}: no time of call ${i}.${t}.${c}`);
        return { ...call, durationMs };
      }),
    }));
    const result = results[i];
    if (result === undefined) throw new UserError(`${directory}: no result of rollout ${i}`);
    return { ...rollout, ...result, writes_T };
  });
}

/** Reads JSON lines of one schema; an error names file and line. */
async function readLines<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line, index) => {
    try {
      return schema.parse(JSON.parse(line));
    } catch (cause) {
      throw new UserError(`${path}:${index + 1}: not a valid record`, { cause });
    }
  });
}

function toLines(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** Parsing with the stored schema drops what other files hold. */
function withoutTimes(rollout: CreditedRollout): unknown {
  return storedRolloutSchema.parse(rollout);
}

function timesOf({ writes_T }: CreditedRollout): unknown {
  return {
    durationsMs_TC: writes_T.map(({ calls }) => calls.map(({ durationMs }) => durationMs)),
  };
}
