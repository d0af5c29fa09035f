/** The run directory as the trainer writes it: a step is the unit of commitment and its line comes last. */
import { access, appendFile, mkdir } from 'node:fs/promises';
import type { CreditedRollout } from '../core/trace.ts';
import { hashJson } from '../lib/hash.ts';
import { mapAll } from '../lib/pool.ts';
import { UserError } from '../lib/user-error.ts';
import {
  appendLine,
  copyDirectory,
  discardTornTail,
  placeDirectory,
  writeFileDurably,
} from './durable.ts';
import { collectGarbage, keptAfter, type Retention } from './garbage.ts';
import {
  bankDirectory,
  checkpointDirectory,
  type RunLayout,
  runLayout,
  stepDirectory,
} from './layout.ts';
import { isMissing, lockRun } from './lock.ts';
import { readManifest, readSteps } from './read.ts';
import { type Manifest, manifestSchema, type StepRecord, stepRecordSchema } from './schema.ts';
import { verifyStepFiles, writeStepFiles } from './step-files.ts';

export interface StepCommit {
  /** Everything of the step's line that the store does not compute itself. */
  readonly record: Omit<StepRecord, 'files' | 'checkpoint'>;
  readonly rollouts: readonly CreditedRollout[];
  /** Directories of promoted banks by content hash. */
  readonly banks: ReadonlyMap<string, string>;
  /** Writes the state after the step into an empty directory; absent where this step has no checkpoint. */
  readonly saveCheckpoint?: (directory: string) => Promise<void>;
}

/** An open, locked run. Only the store's functions make one. */
export class Run implements AsyncDisposable {
  readonly layout: RunLayout;
  readonly manifest: Manifest;
  readonly #records: StepRecord[];
  readonly #release: () => Promise<void>;

  constructor(state: {
    readonly layout: RunLayout;
    readonly manifest: Manifest;
    readonly records: readonly StepRecord[];
    readonly release: () => Promise<void>;
  }) {
    this.layout = state.layout;
    this.manifest = state.manifest;
    this.#records = [...state.records];
    this.#release = state.release;
  }

  /** Committed steps, in order. */
  get records(): readonly StepRecord[] {
    return this.#records;
  }

  get nextStep(): number {
    return this.#records.length;
  }

  /** The checkpoint after the last step; undefined before the first. */
  get lastCheckpoint(): string | undefined {
    const last = this.#records.findLast(({ checkpoint }) => checkpoint);
    return last && checkpointDirectory(this.layout, last.step);
  }

  bank(contentHash: string): string {
    return bankDirectory(this.layout, contentHash);
  }

  /** Everything that the line names is on disk before the line is. */
  async commitStep({ record, rollouts, banks, saveCheckpoint }: StepCommit): Promise<StepRecord> {
    if (record.step !== this.nextStep) {
      throw new Error(`step ${record.step} cannot follow ${this.nextStep} committed steps`);
    }
    const [files] = await Promise.all([
      writeStepFiles(stepDirectory(this.layout, record.step), rollouts),
      mapAll([...banks], ([hash, directory]) => this.#adoptBank(hash, directory)),
      saveCheckpoint &&
        placeDirectory(checkpointDirectory(this.layout, record.step), saveCheckpoint),
    ]);
    await this.#assertBanks(record.rows);
    const line = stepRecordSchema.parse({
      ...record,
      files,
      checkpoint: saveCheckpoint !== undefined,
    });
    await appendLine(this.layout.steps, line);
    this.#records.push(line);
    return line;
  }

  async collectGarbage(retention: Retention): Promise<void> {
    await collectGarbage(this.layout, keptAfter(this.#records, retention));
  }

  /** Progress for people; carries times and is no part of the run's identity. */
  async appendEvent(event: Readonly<Record<string, unknown>>): Promise<void> {
    await appendFile(this.layout.events, `${JSON.stringify(event)}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#release();
  }

  /** A bank of this content may be there already: content decides, so it stays. */
  async #adoptBank(contentHash: string, from: string): Promise<void> {
    const target = this.bank(contentHash);
    if (await exists(target)) return;
    await placeDirectory(target, (temporary) => copyDirectory(from, temporary));
  }

  async #assertBanks(rows: StepRecord['rows']): Promise<void> {
    for (const { outcome, windowId } of rows) {
      if (outcome.kind === 'promoted' && !(await exists(this.bank(outcome.hash)))) {
        throw new Error(
          `window ${windowId} promotes bank ${outcome.hash}, which was not handed in`,
        );
      }
    }
  }
}

/** Starts a run in an absent or empty directory. */
export async function createRun(directory: string, manifest: Manifest): Promise<Run> {
  const layout = runLayout(directory);
  await mkdir(directory, { recursive: true });
  const release = await lockRun(directory);
  try {
    if (await exists(layout.manifest)) {
      throw new UserError(
        `${directory} already holds a run: resume it, or choose another directory`,
      );
    }
    await makeFolders(layout);
    await writeFileDurably(layout.manifest, `${JSON.stringify(manifestSchema.parse(manifest))}\n`);
    return new Run({ layout, manifest, records: [], release });
  } catch (cause) {
    await release();
    throw cause;
  }
}

/**
 * Continues a run after its last committed step: a torn line is cut off, steps after the last checkpoint are taken back
 * (they will be redone with the same result), and what the last line names is verified.
 */
export async function resumeRun(directory: string, expected: Manifest): Promise<Run> {
  const layout = runLayout(directory);
  const manifest = await readManifest(directory);
  const release = await lockRun(directory);
  try {
    assertSameManifest(manifest, manifestSchema.parse(expected), directory);
    await makeFolders(layout);
    await discardTornTail(layout.steps);
    if (await exists(layout.events)) await discardTornTail(layout.events);
    const records = await rollBack(layout, await readSteps(directory));
    const last = records.at(-1);
    if (last !== undefined) await verifyStep(layout, last);
    return new Run({ layout, manifest, records, release });
  } catch (cause) {
    await release();
    throw cause;
  }
}

/** Resumes where there is a run, starts one where there is none. */
export async function openRun(directory: string, manifest: Manifest): Promise<Run> {
  return (await exists(runLayout(directory).manifest))
    ? await resumeRun(directory, manifest)
    : await createRun(directory, manifest);
}

async function makeFolders(layout: RunLayout): Promise<void> {
  for (const folder of [layout.stepsDirectory, layout.checkpoints, layout.banks]) {
    await mkdir(folder, { recursive: true });
  }
  if (!(await exists(layout.steps))) await writeFileDurably(layout.steps, '');
}

async function rollBack(layout: RunLayout, records: readonly StepRecord[]): Promise<StepRecord[]> {
  const last = records.findLastIndex(({ checkpoint }) => checkpoint);
  if (last === records.length - 1) return [...records];
  const kept = records.slice(0, last + 1);
  await writeFileDurably(
    layout.steps,
    kept.map((record) => `${JSON.stringify(record)}\n`).join(''),
  );
  return kept;
}

async function verifyStep(layout: RunLayout, record: StepRecord): Promise<void> {
  await verifyStepFiles(stepDirectory(layout, record.step), record.files);
  if (!(await exists(checkpointDirectory(layout, record.step)))) {
    throw new UserError(`checkpoint of step ${record.step} is missing in ${layout.directory}`);
  }
  for (const { outcome } of record.rows) {
    if (outcome.kind === 'promoted' && !(await exists(bankDirectory(layout, outcome.hash)))) {
      throw new UserError(`promoted bank ${outcome.hash} is missing in ${layout.directory}`);
    }
  }
}

function assertSameManifest(found: Manifest, expected: Manifest, directory: string): void {
  const fields = Object.keys(manifestSchema.shape) as (keyof Manifest)[];
  const identity = (manifest: Manifest, field: keyof Manifest): string =>
    hashJson([manifest[field]]);
  const different = fields.filter((field) => identity(found, field) !== identity(expected, field));
  if (different.length > 0) {
    throw new UserError(
      `${directory} was started with another ${different.join(', ')}: resume it with the same, or start a new run`,
    );
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (cause) {
    if (isMissing(cause)) return false;
    throw cause;
  }
}
