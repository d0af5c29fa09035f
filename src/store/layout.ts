/** Names of everything in a run directory (docs/run-directory.md). Nothing else in the project spells these paths. */
import { join } from 'node:path';

export const SCHEMA_VERSION = 1;

export interface RunLayout {
  readonly directory: string;
  readonly manifest: string;
  readonly steps: string;
  readonly events: string;
  readonly stepsDirectory: string;
  readonly checkpoints: string;
  readonly banks: string;
}

export function runLayout(directory: string): RunLayout {
  return {
    directory,
    manifest: join(directory, 'manifest.json'),
    steps: join(directory, 'steps.jsonl'),
    events: join(directory, 'events.jsonl'),
    stepsDirectory: join(directory, 'steps'),
    checkpoints: join(directory, 'checkpoints'),
    banks: join(directory, 'banks'),
  };
}

export function stepDirectory(layout: RunLayout, step: number): string {
  return join(layout.stepsDirectory, padStep(step));
}

export function checkpointDirectory(layout: RunLayout, step: number): string {
  return join(layout.checkpoints, padStep(step));
}

export function bankDirectory(layout: RunLayout, contentHash: string): string {
  return join(layout.banks, contentHash);
}

/** `000012`: names sort as numbers do. */
export function padStep(step: number): string {
  return String(step).padStart(6, '0');
}
