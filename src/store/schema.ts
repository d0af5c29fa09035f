/** What the run directory's own records look like; rollouts and results have their schemas in core. */
import { z } from 'zod';
import { itemResultSchema } from '../core/exam.ts';
import {
  callSchema,
  chunkWriteSchema,
  creditedRolloutSchema,
  rolloutSchema,
} from '../core/trace.ts';
import { SCHEMA_VERSION } from './layout.ts';

/** Decided before the first step and never changed; a resume with another one is refused. Holds no times. */
export const manifestSchema = z.strictObject({
  schemaVersion: z.literal(SCHEMA_VERSION).default(SCHEMA_VERSION),
  /** `opd`, `rl`, `eval`, … */
  kind: z.string().min(1),
  seed: z.string().min(1),
  preset: z.string().min(1),
  /** The whole configuration with its defaults filled in. */
  config: z.json(),
  /** Hash of everything the run reads: windows, probes, questions. */
  dataHash: z.string().min(1),
  startWeightsHash: z.string().min(1),
  /** Of the frozen teacher, where the run has one. */
  teacherWeightsHash: z.string().min(1).exactOptional(),
  /** memwriter, node, frameworks, engine. */
  versions: z.record(z.string(), z.string()),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** One row of a step's plan and what became of its parent chain. */
const rowRecordSchema = z.strictObject({
  configuration: z.string(),
  sequence: z.string(),
  windowId: z.string(),
  /** Position in the sequence's chain of windows, from 0. */
  windowIndex: z.int().nonnegative(),
  /** How often this window was void or aborted before. */
  attempt: z.int().nonnegative(),
  parentHash: z.string(),
  outcome: z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('promoted'),
      index: z.int().nonnegative(),
      hash: z.string(),
      bankTokens: z.int().nonnegative(),
    }),
    /** No candidate: the parent stays. `skipped` once the retries are used up. */
    z.strictObject({ kind: z.literal('void'), skipped: z.boolean() }),
  ]),
});
export type RowRecord = z.infer<typeof rowRecordSchema>;

/** The step's line: written last, after everything it names is on disk. */
export const stepRecordSchema = z.strictObject({
  step: z.int().nonnegative(),
  outcome: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.enum(['updated', 'skipped-empty', 'skipped-non-finite']) }),
    /** Too many faults: no update, no promotion. */
    z.strictObject({ kind: z.literal('aborted'), reason: z.string() }),
  ]),
  rows: z.array(rowRecordSchema),
  policyVersion: z.int().nonnegative(),
  metrics: z.record(z.string(), z.number()),
  /** Counts by boundary. */
  faults: z.strictObject({
    rollouts: z.record(z.string(), z.int()),
    items: z.record(z.string(), z.int()),
  }),
  /** sha256 of each file of the step's directory. */
  files: z.record(z.string(), z.string()),
  /** Whether `checkpoints/<step>` holds the state after this step. */
  checkpoint: z.boolean(),
});
export type StepRecord = z.infer<typeof stepRecordSchema>;

/** A line of `events.jsonl`: progress for people, with its time; what else it says depends on its type. */
export const runEventSchema = z.looseObject({ type: z.string(), at: z.string() });
export type RunEvent = z.infer<typeof runEventSchema>;

/** A line of `rollouts.jsonl`: a rollout without its durations, which are in `times.jsonl`. */
export const storedRolloutSchema = rolloutSchema.extend({
  writes_T: z.array(
    chunkWriteSchema.extend({ calls: z.array(callSchema.omit({ durationMs: true })) }),
  ),
});

/** A line of `results.jsonl`: what exam, reward and credit added to the rollout of the same line. */
export const storedResultSchema = creditedRolloutSchema
  .pick({
    windowId: true,
    configuration: true,
    sequence: true,
    index: true,
    outcome: true,
    scores_T: true,
    total: true,
    advantages_T: true,
  })
  .extend({ results: z.array(itemResultSchema) });

/** A line of `times.jsonl`: call durations of the rollout of the same line, by chunk and call. */
export const storedTimesSchema = z.object({ durationsMs_TC: z.array(z.array(z.number())) });
