/** A run directory commits whole steps, survives kills, and is held by one process. */
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sampleCall, sampleRollout } from '../testing/sample-records.ts';
import { createScratch } from '../testing/scratch.ts';
import { keptAfter } from './garbage.ts';
import { lockRun, RunLockedError } from './lock.ts';
import { listRuns, readEvents, readManifest, readRollouts, readSteps } from './read.ts';
import { createRun, openRun, type Run, resumeRun, type StepCommit } from './run.ts';
import { type Manifest, manifestSchema } from './schema.ts';

const manifest: Manifest = manifestSchema.parse({
  kind: 'rl',
  seed: 's',
  preset: 'recommended',
  config: { steps: 3 },
  dataHash: 'data',
  startWeightsHash: 'weights',
  versions: { memwriter: '0.1.0' },
});

let root = '';
let directory = '';
beforeEach(async () => {
  root = (await createScratch()).path;
  directory = join(root, 'runs', 'one');
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function bankOf(hash: string): Promise<string> {
  const path = join(root, `working-${hash}`);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, 'bank.json'), hash);
  return path;
}

async function commitOf(step: number, hash = `bank${step}`): Promise<StepCommit> {
  return {
    record: {
      step,
      outcome: { kind: 'updated' },
      rows: [
        {
          configuration: 'memory',
          sequence: 'ada/0',
          windowId: `w${step}`,
          windowIndex: step,
          attempt: 0,
          parentHash: step === 0 ? 'empty' : `bank${step - 1}`,
          outcome: { kind: 'promoted', index: 0, hash, bankTokens: 1 },
        },
      ],
      policyVersion: step + 1,
      metrics: { loss: 0.5 },
      faults: { rollouts: {}, items: {} },
    },
    rollouts: [sampleRollout({ windowId: `w${step}` })],
    banks: new Map([[hash, await bankOf(hash)]]),
    saveCheckpoint: (path) => writeFile(join(path, 'weights'), `w${step}`),
  };
}

async function commitSteps(run: Run, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await run.commitStep(await commitOf(run.nextStep));
}

test('a committed step reads back whole, and a resume goes on after it', async () => {
  {
    await using run = await createRun(directory, manifest);
    await commitSteps(run, 2);
    await run.appendEvent({ type: 'started', at: 'now' });
  }
  await using run = await resumeRun(directory, manifest);
  expect(run.nextStep).toBe(2);
  expect(await readFile(join(run.lastCheckpoint ?? '', 'weights'), 'utf8')).toBe('w1');
  expect(await readFile(join(run.bank('bank1'), 'bank.json'), 'utf8')).toBe('bank1');
  expect(await readRollouts(directory, 1)).toEqual([sampleRollout({ windowId: 'w1' })]);
  expect((await readManifest(directory)).seed).toBe('s');
  expect(await listRuns(join(root, 'runs'))).toEqual(['one']);
  expect(await listRuns(root)).toContain(join('runs', 'one'));
  expect(await readEvents(directory)).toEqual([{ type: 'started', at: 'now' }]);
});

test('times do not touch the records: other durations give the same bytes and the same line', async () => {
  const files: string[] = [];
  for (const durationMs of [1, 99]) {
    const place = join(root, `run-${durationMs}`);
    await using run = await createRun(place, manifest);
    const [write] = sampleRollout().writes_T;
    const writes_T = write === undefined ? [] : [{ ...write, calls: [sampleCall({ durationMs })] }];
    await run.commitStep({ ...(await commitOf(0)), rollouts: [sampleRollout({ writes_T })] });
    files.push(
      (await readFile(join(place, 'steps.jsonl'), 'utf8')) +
        (await readFile(join(place, 'steps/000000/rollouts.jsonl'), 'utf8')),
    );
    expect((await readRollouts(place, 0))[0]?.writes_T[0]?.calls[0]?.durationMs).toBe(durationMs);
  }
  expect(files[0]).toBe(files[1]);
});

describe('BR-50: resume loses nothing and repeats nothing', () => {
  test('a torn last line is discarded and its step redone', async () => {
    {
      await using run = await createRun(directory, manifest);
      await commitSteps(run, 2);
    }
    const whole = await readFile(join(directory, 'steps.jsonl'), 'utf8');
    await appendFile(join(directory, 'steps.jsonl'), '{"step":2,"outco');
    expect(await readSteps(directory)).toHaveLength(2);
    await using run = await resumeRun(directory, manifest);
    expect(run.nextStep).toBe(2);
    expect(await readFile(join(directory, 'steps.jsonl'), 'utf8')).toBe(whole);
  });

  test('a kill while a checkpoint is written leaves the step before it; the redone step replaces the debris', async () => {
    {
      await using run = await createRun(directory, manifest);
      await commitSteps(run, 1);
      const failing = { ...(await commitOf(1)), saveCheckpoint: failAfterHalf };
      await expect(run.commitStep(failing)).rejects.toThrow('killed');
    }
    await using run = await resumeRun(directory, manifest);
    expect(run.nextStep).toBe(1);
    expect(await readFile(join(run.lastCheckpoint ?? '', 'weights'), 'utf8')).toBe('w0');
    await commitSteps(run, 1);
    await run.collectGarbage({ keepCheckpoints: 5, namedSteps: [] });
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000000', '000001']);
    expect(await readFile(join(run.lastCheckpoint ?? '', 'weights'), 'utf8')).toBe('w1');
  });

  test('a second run on the same directory is refused, and says who holds it', async () => {
    await using run = await createRun(directory, manifest);
    await expect(resumeRun(directory, manifest)).rejects.toThrow(RunLockedError);
    await expect(resumeRun(directory, manifest)).rejects.toThrow(String(process.pid));
    expect(run.nextStep).toBe(0);
  });

  test('BR-35: a lock whose process is dead is taken over', async () => {
    await mkdir(join(directory, '.lock'), { recursive: true });
    const dead = { pid: 2 ** 22 + 1, host: hostname() };
    await writeFile(join(directory, '.lock-holder.json'), JSON.stringify(dead));
    const release = await lockRun(directory);
    await expect(lockRun(directory)).rejects.toThrow(RunLockedError);
    await release();
  });

  test('a step without a checkpoint is taken back to the last one that has', async () => {
    {
      await using run = await createRun(directory, manifest);
      await commitSteps(run, 1);
      const { saveCheckpoint: _, ...bare } = await commitOf(1);
      await run.commitStep(bare);
      expect(run.nextStep).toBe(2);
    }
    await using run = await resumeRun(directory, manifest);
    expect(run.nextStep).toBe(1);
    expect(await readSteps(directory)).toHaveLength(1);
  });

  test('a file changed after its commit is refused by name', async () => {
    {
      await using run = await createRun(directory, manifest);
      await commitSteps(run, 1);
    }
    await appendFile(join(directory, 'steps/000000/results.jsonl'), '{}\n');
    await expect(resumeRun(directory, manifest)).rejects.toThrow('results.jsonl');
  });

  test('a promotion whose bank was not handed in is never committed', async () => {
    await using run = await createRun(directory, manifest);
    const commit = { ...(await commitOf(0)), banks: new Map<string, string>() };
    await expect(run.commitStep(commit)).rejects.toThrow('bank0');
    expect(run.nextStep).toBe(0);
    expect(await readSteps(directory)).toEqual([]);
  });
});

test('BR-65: another data set, seed or configuration refuses to resume and names what differs', async () => {
  const first = await createRun(directory, manifest);
  await first[Symbol.asyncDispose]();
  await expect(resumeRun(directory, { ...manifest, dataHash: 'x' })).rejects.toThrow('dataHash');
  await expect(resumeRun(directory, { ...manifest, seed: 'x' })).rejects.toThrow('seed');
  const taught = { ...manifest, teacherWeightsHash: 'x' };
  await expect(resumeRun(directory, taught)).rejects.toThrow('another teacherWeightsHash');
  await expect(createRun(directory, manifest)).rejects.toThrow('already holds a run');
  await using again = await openRun(directory, manifest);
  expect(again.nextStep).toBe(0);
});

describe('garbage collection', () => {
  test('keeps the newest and the named checkpoints and every bank that a resume could start from', async () => {
    await using run = await createRun(directory, manifest);
    await commitSteps(run, 5);
    await run.collectGarbage({ keepCheckpoints: 2, namedSteps: [1] });
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000001', '000003', '000004']);
    expect(await readdir(join(directory, 'banks'))).toEqual(['bank3', 'bank4']);
  });

  test('a chain that rests for many steps keeps its bank', async () => {
    const first = (await commitOf(0)).record;
    const base = { ...first, files: {}, checkpoint: true };
    const resting = { ...base, rows: base.rows.map((row) => ({ ...row, sequence: 'bob/0' })) };
    const later = [1, 2, 3].map((step) => ({
      ...base,
      step,
      rows: base.rows.map((row) => ({
        ...row,
        outcome: { kind: 'promoted' as const, index: 0, hash: `ada${step}`, bankTokens: 1 },
      })),
    }));
    const kept = keptAfter([resting, ...later], { keepCheckpoints: 1, namedSteps: [] });
    expect([...kept.banks].sort()).toEqual(['ada3', 'bank0']);
  });

  test('a replica that is through leaves no bank once the next one has promoted', async () => {
    const first = (await commitOf(0)).record;
    const base = { ...first, files: {}, checkpoint: true };
    const next = {
      ...base,
      step: 1,
      rows: base.rows.map((row) => ({
        ...row,
        sequence: 'ada/1',
        outcome: { kind: 'promoted' as const, index: 0, hash: 'again', bankTokens: 1 },
      })),
    };
    const kept = keptAfter([base, next], { keepCheckpoints: 1, namedSteps: [] });
    expect([...kept.banks]).toEqual(['again']);
  });
});

async function failAfterHalf(path: string): Promise<void> {
  await writeFile(join(path, 'weights'), 'half');
  throw new Error('killed');
}
