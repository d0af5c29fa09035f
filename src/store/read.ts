/** Typed readers of run directories for reports and the command line; they take no lock and change nothing. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreditedRollout } from '../core/trace.ts';
import { UserError } from '../lib/user-error.ts';
import { runLayout, stepDirectory } from './layout.ts';
import { isMissing } from './lock.ts';
import {
  type Manifest,
  manifestSchema,
  type RunEvent,
  runEventSchema,
  type StepRecord,
  stepRecordSchema,
} from './schema.ts';
import { readStepFiles } from './step-files.ts';

export async function readManifest(directory: string): Promise<Manifest> {
  const path = runLayout(directory).manifest;
  try {
    return manifestSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (cause) {
    const why = isMissing(cause) ? 'is not a run directory' : 'is not a readable manifest';
    throw new UserError(`${isMissing(cause) ? directory : path} ${why}`, { cause });
  }
}

/** Committed steps in order; a half-written last line is not one. */
export async function readSteps(directory: string): Promise<StepRecord[]> {
  const text = await readIfPresent(runLayout(directory).steps);
  return wholeLines(text).map((line, index) => {
    const record = parseStep(line, `${directory}: steps.jsonl:${index + 1}`);
    if (record.step !== index) {
      throw new UserError(
        `${directory}: line ${index + 1} of steps.jsonl is of step ${record.step}`,
      );
    }
    return record;
  });
}

export async function readRollouts(directory: string, step: number): Promise<CreditedRollout[]> {
  return await readStepFiles(stepDirectory(runLayout(directory), step));
}

/** Paths of the run directories under `root`, relative to it and sorted: those in it and those in a folder of it. */
export async function listRuns(root: string): Promise<string[]> {
  const runs: string[] = [];
  for (const name of await foldersOf(root)) {
    if (await isRun(join(root, name))) {
      runs.push(name);
      continue;
    }
    for (const inner of await foldersOf(join(root, name))) {
      if (await isRun(join(root, name, inner))) runs.push(join(name, inner));
    }
  }
  return runs.sort();
}

/** What the run told people while it went on, oldest first; a half-written last line is not one. */
export async function readEvents(directory: string): Promise<RunEvent[]> {
  const lines = wholeLines(await readIfPresent(runLayout(directory).events));
  return lines.map((line, index) => {
    try {
      return runEventSchema.parse(JSON.parse(line));
    } catch (cause) {
      throw new UserError(`${directory}: events.jsonl:${index + 1}: not a valid event`, { cause });
    }
  });
}

async function foldersOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function isRun(directory: string): Promise<boolean> {
  return (await readdir(directory)).includes('manifest.json');
}

function wholeLines(text: string): string[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return whole.filter((line) => line !== '');
}

function parseStep(line: string, where: string): StepRecord {
  try {
    return stepRecordSchema.parse(JSON.parse(line));
  } catch (cause) {
    throw new UserError(`${where}: not a valid step record`, { cause });
  }
}

async function readIfPresent(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (isMissing(cause)) return '';
    throw cause;
  }
}
