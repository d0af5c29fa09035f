/** What a person reads on standard output. */
import Table from 'cli-table3';
import type { Interval, WriterSummary } from '../bench/writer-summary.ts';
import { type Comparison, differenceKey } from './evaluation.ts';

export function writersTable(writers: Readonly<Record<string, WriterSummary>>): string {
  const ranked = Object.values(writers).some(({ ownRanking }) => ownRanking !== undefined);
  const table = new Table({
    head: [
      'writer',
      'chunk score',
      '95 % interval',
      'recall',
      'traps refused',
      'protocol errors',
      'bank tokens',
      ...(ranked ? ['own ranking'] : []),
    ],
    style: { head: [], border: [] },
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
  });
  for (const [name, summary] of Object.entries(writers)) {
    table.push([
      name,
      summary.chunkScore.mean.toFixed(3),
      intervalText(summary.chunkScore),
      share(summary.recall),
      share(summary.trapsRefused),
      share(summary.protocolErrorRate),
      summary.bankTokens === null ? '–' : summary.bankTokens.toFixed(0),
      ...(ranked ? [summary.ownRanking?.chunkScore.mean.toFixed(3) ?? '–'] : []),
    ]);
  }
  return table.toString();
}

export function differencesTable({
  differences,
  pairs,
}: Pick<Comparison, 'differences' | 'pairs'>): string {
  const table = new Table({
    head: ['difference in chunk score', 'mean', '95 % interval', ''],
    style: { head: [], border: [] },
    colAligns: ['left', 'right', 'right', 'left'],
  });
  for (const pair of pairs) {
    const difference = differences[differenceKey(pair)];
    if (difference === undefined) throw new Error(`no difference of ${pair.join(' and ')}`);
    table.push([
      pair.join(' − '),
      signed(difference.mean),
      intervalText(difference),
      verdict(difference),
    ]);
  }
  return table.toString();
}

function intervalText({ low, high }: Interval): string {
  return low === null || high === null
    ? 'too few users'
    : `${low.toFixed(3)} to ${high.toFixed(3)}`;
}

function verdict({ low, high }: Interval): string {
  if (low === null || high === null) return '';
  if (low > 0) return 'better';
  return high < 0 ? 'worse' : 'undecided';
}

function share(value: number | null): string {
  return value === null ? '–' : `${(100 * value).toFixed(1)} %`;
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
}
