/** What all fault cells together say: nothing was lost in silence, and each failure was laid at the right door. */
import type { FaultCell, ObligationResult } from './certificate.ts';
import type { Lab } from './lab.ts';

export interface JudgedCell {
  readonly cell: FaultCell;
  /** What was made to fail. */
  readonly failing: 'answer' | 'provider';
  /** The bank holds what it holds after the same write without the failure. */
  readonly whole: boolean;
}

const UNTRIED = new Set(['not reached', 'no such answer']);

/** `trouble`: why the cells prove nothing, where already the write without a failure went wrong. */
export function judgeCells(
  { harness }: Lab,
  all: readonly JudgedCell[],
  trouble: string | undefined,
): readonly ObligationResult[] {
  const tried = all.filter(({ cell }) => !UNTRIED.has(cell.concluded));
  const named = (cells: readonly JudgedCell[]): string =>
    cells.map(({ cell }) => `${cell.stage}, ${cell.injected}: ${cell.concluded}`).join('; ');
  const reached = new Set(tried.map(({ cell }) => cell.stage));
  const unreached = harness.stages.map(({ name }) => name).filter((name) => !reached.has(name));
  const scope = [
    `${tried.length} of ${all.length} cells tried`,
    ...(unreached.length === 0 ? [] : [`stages not reached: ${unreached.join(', ')}`]),
  ].join('; ');
  const judge = (name: string, wrong: readonly JudgedCell[], held: string): ObligationResult => {
    if (trouble !== undefined) return { name, status: 'violated', detail: trouble };
    return wrong.length > 0
      ? { name, status: 'violated', detail: `${named(wrong)} (${scope})` }
      : { name, status: 'held', detail: `${held} (${scope})` };
  };
  return [
    judge(
      'no silent loss',
      tried.filter(({ cell, whole }) => cell.concluded === 'ok' && !whole),
      'nothing was concluded ok while texts were lost',
    ),
    judge(
      'attribution',
      tried.filter((one) => !isAttributed(one)),
      "a failing provider is a fault of upstream, a bad answer the policy's or without effect",
    ),
  ];
}

function isAttributed({ cell: { concluded }, failing, whole }: JudgedCell): boolean {
  if (failing === 'provider') return concluded === 'fault: upstream';
  return concluded.startsWith('policy-error: ') || (concluded === 'ok' && whole);
}
