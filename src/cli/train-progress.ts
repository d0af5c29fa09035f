/** What a person sees of a training run while it goes on. */
import type { TrainEvent } from '../train/parts.ts';
import type { Progress } from './progress.ts';

export function showTrainEvent(event: TrainEvent, progress: Progress): void {
  switch (event.type) {
    case 'step-committed': {
      const { step, metrics } = event.record;
      progress.update(step + 1, noteOf(metrics));
      return;
    }
    case 'alarm':
      progress.line(`step ${event.step}: ${event.message}`);
      return;
    case 'write-retried': {
      const { step, configuration, windowId, index, fault } = event;
      progress.line(
        `step ${step}: a write was tried again (${configuration}, window ${windowId}, rollout ${index}): ${fault.boundary}: ${fault.message}`,
      );
      return;
    }
    case 'opened':
      if (event.nextStep > 0) progress.update(event.nextStep, 'resumed');
      return;
    case 'step-started':
    case 'row-finished':
    case 'stopped':
    case 'finished':
      return;
    default:
      event satisfies never;
  }
}

const SHOWN = ['chunkScore', 'malformedCalls', 'kl', 'entropy'];

function noteOf(metrics: Readonly<Record<string, number>>): string {
  return SHOWN.flatMap((name) => {
    const value = metrics[name];
    return value === undefined ? [] : [`${name} ${value.toFixed(3)}`];
  }).join(', ');
}
