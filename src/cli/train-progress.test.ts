/** What a person is told of a run. */
import { expect, test } from 'vitest';
import { aFault } from '../testing/trace-builders.ts';
import { showTrainEvent } from './train-progress.ts';

test('a write that was tried again is one line with its reason', () => {
  const lines: string[] = [];
  const progress = {
    update: () => {},
    line: (text: string) => {
      lines.push(text);
    },
    stop: () => {},
  };
  showTrainEvent(
    {
      type: 'write-retried',
      step: 3,
      configuration: 'mem0',
      windowId: 'ann/w0',
      index: 2,
      fault: aFault('embedder', 'HTTP 503'),
    },
    progress,
  );
  expect(lines).toEqual([
    'step 3: a write was tried again (mem0, window ann/w0, rollout 2): embedder: HTTP 503',
  ]);
});
