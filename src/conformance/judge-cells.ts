/** What all fault cells together say: nothing was lost in silence, and each failure was laid at the right door. */
import type { FaultCell, ObligationResult } from './certificate.ts';
import type { Lab } from './lab.ts';

/** What cells of a failing embedding say in place of a stage. */
export const EMBEDDING = 'embedding';

export interface JudgedCell {
  readonly cell: FaultCell;
  /** What was made to fail. */
  readonly failing: 'answer' | 'provider' | 'embedding';
  /** The bank holds what it holds after the same write without the failure; where embedding failed, it also finds it. */
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
  const names = [...harness.stages.map(({ name }) => name), EMBEDDING];
  const unreached = names.filter((name) => !reached.has(name));
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
      'nothing was concluded ok while anything was lost',
    ),
    judge(
      'attribution',
      tried.filter((one) => !isAttributed(one)),
      "a failing provider is a fault of upstream, a failing embedding another, a bad answer the policy's or without effect",
    ),
  ];
}

function isAttributed({ cell: { concluded }, failing, whole }: JudgedCell): boolean {
  const harmless = concluded === 'ok' && whole;
  switch (failing) {
    case 'provider':
      return concluded === 'fault: upstream';
    case 'embedding':
      // Whose it is depends on where the framework noticed: never the writer's, whose answers were sound.
      return harmless || (concluded.startsWith('fault: ') && concluded !== 'fault: upstream');
    case 'answer':
      return harmless || concluded.startsWith('policy-error: ');
    default:
      return failing satisfies never;
  }
}
