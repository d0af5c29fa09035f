/** What an evaluation says at its end: one stable JSON object, or tables for a person. */
import type { ExamCounts } from '../exam/cache.ts';
import type { Comparison } from './evaluation.ts';
import { type DataCounts, leftOutText } from './exam-source.ts';
import type { FaultShare } from './fault-share.ts';
import { differencesTable, writersTable } from './tables.ts';
import { knownUsage, type UsageSummary, usageLines } from './usage-meter.ts';

export interface EvalReport extends Comparison {
  readonly seed: string;
  readonly wallS: number;
  readonly data: DataCounts;
  /** Answers and grades that were needed, and those that an identical question saved. */
  readonly exam: ExamCounts;
  /** Of relay writers, by name. */
  readonly usage: ReadonlyMap<string, UsageSummary>;
  /** By writer. */
  readonly faultShares: ReadonlyMap<string, FaultShare>;
}

export function evalJson({ usage, faultShares, ...report }: EvalReport): string {
  const byWriter = [...usage].map(([name, summary]) => [name, knownUsage(summary)]);
  return `${JSON.stringify({
    ...report,
    usage: Object.fromEntries(byWriter),
    faultShares: Object.fromEntries(faultShares),
  })}\n`;
}

export function evalText(report: EvalReport): string {
  const { writers, data, exam, usage, faults, wallS } = report;
  const leftOut = leftOutText(data);
  return [
    writersTable(writers),
    ...(report.pairs.length === 0 ? [] : [differencesTable(report)]),
    `data: ${data.users} users, ${data.windows} windows, ${data.chunks} chunks; ${data.probes} recall probes, ${data.traps} traps, ${data.questions} questions; ${data.notSelected} above the caps`,
    ...(leftOut === undefined ? [] : [leftOut]),
    `exam: ${savedText('answers', exam.answers)}; ${savedText('grades', exam.grades)}`,
    ...[...usage].flatMap(([name, summary]) =>
      usageLines(summary).map((line) => `${name}: ${line}`),
    ),
    `${faults} faults, ${wallS.toFixed(0)} s; same questions, same reader and judge\n`,
  ].join('\n');
}

function savedText(what: string, { asked, saved }: ExamCounts['answers']): string {
  return `${asked} ${what} needed, ${saved} of them known already`;
}
