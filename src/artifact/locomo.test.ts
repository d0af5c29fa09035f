/** The published LoCoMo file all the way to window artifacts: real probes of a real data set without an annotator. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { windowArtifactSchema } from '../core/exam.ts';
import { readLocomo } from '../data/locomo.ts';
import { summarise } from '../data/summary.ts';
import { windowsOfStream } from '../data/windows.ts';
import { gradeByRule } from '../exam/rule-judge.ts';
import { attachItems } from './attach.ts';
import { selectProbes } from './select.ts';

// biome-ignore lint/style/noProcessEnv: where a developer keeps downloaded data is nobody else's business
const { MEMWRITER_DATA } = process.env;
const REAL = [MEMWRITER_DATA, join('..', 'shared', 'data')]
  .filter((directory) => directory !== undefined)
  .map((directory) => join(directory, 'locomo10.json'))
  .find(existsSync);
const OPTIONS = {
  countTokens: (text: string) => text.length,
  turnsPerChunk: 10,
  maxChunkTokens: 1e6,
};

async function attachAll() {
  const { streams } = await readLocomo(String(REAL));
  const attached = streams.map((stream) => attachItems(stream, windowsOfStream(stream, OPTIONS)));
  return {
    streams,
    artifacts: attached.flatMap(({ artifacts }) => artifacts),
    unplaced: attached.flatMap(({ unplaced }) => unplaced),
  };
}

test.skipIf(REAL === undefined)('every resolved question finds its chunks', async () => {
  const { streams, artifacts, unplaced } = await attachAll();
  expect(unplaced).toEqual([]);
  for (const artifact of artifacts) windowArtifactSchema.parse(artifact);
  expect(summarise(streams, artifacts)).toMatchObject({
    windows: 125,
    chunks: 611,
    recallProbes: 1181,
    traps: 444,
    questions: 353,
    goldFacts: 482,
  });
  expect(selectProbes(artifacts).counts).toMatchObject({
    recall: { offered: 1181, kept: 986 },
    traps: { offered: 444, kept: 284 },
  });
});

test.skipIf(REAL === undefined)(
  'the rule judge gives every reference full marks, every trapped answer none',
  async () => {
    const { artifacts } = await attachAll();
    for (const item of artifacts.flatMap(({ probes, questions }) => [...probes, ...questions])) {
      const { verdicts, credits } = gradeByRule(item, item.reference);
      const marks = [...Object.values(verdicts), ...Object.values(credits)];
      expect({ id: item.id, marks }).toEqual({ id: item.id, marks: marks.map(() => 1) });
      if (item.kind !== 'trap' || item.trapped === undefined) continue;
      const tempted = gradeByRule(item, item.trapped.all.join(', '));
      expect(Object.values(tempted.verdicts)).toEqual([0]);
    }
  },
);
