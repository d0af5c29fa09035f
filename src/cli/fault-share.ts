/** Whether too much of an evaluation was lost to the platform for its numbers to stand. */
import type { EvaluatedWindow } from '../bench/evaluate.ts';
import type { Boundary, Fault } from '../core/outcome.ts';

/** As for a training step (definitions §5): above this share of planned windows or items, the numbers do not stand. */
export const MAX_FAULT_SHARE = 0.05;

export interface FaultShare {
  readonly windows: { readonly planned: number; readonly lost: number };
  /** The items of a lost window are lost with it. */
  readonly items: { readonly planned: number; readonly lost: number };
  /** Lost windows, and lost items of the other windows, by who failed. */
  readonly boundaries: Readonly<Partial<Record<Boundary, number>>>;
  /** What the first of them said; absent where nothing is lost. */
  readonly first?: string;
}

export function faultShareOf(windows: readonly EvaluatedWindow[]): FaultShare {
  const boundaries = new Map<Boundary, number>();
  let first: string | undefined;
  const count = ({ boundary, message }: Fault): void => {
    const before = boundaries.get(boundary);
    boundaries.set(boundary, before === undefined ? 1 : before + 1);
    first ??= message;
  };
  let lostWindows = 0;
  let lostItems = 0;
  for (const window of windows) {
    if (window.kind === 'fault') {
      lostWindows += 1;
      lostItems += plannedItems(window);
      count(window.fault);
      continue;
    }
    for (const { result } of window.rollout.results) {
      if (result.kind !== 'fault') continue;
      lostItems += 1;
      count(result);
    }
  }
  const planned = windows.reduce((sum, window) => sum + plannedItems(window), 0);
  return {
    windows: { planned: windows.length, lost: lostWindows },
    items: { planned, lost: lostItems },
    boundaries: Object.fromEntries(boundaries),
    ...(first !== undefined && { first }),
  };
}

export function isTooMuch({ windows, items }: FaultShare): boolean {
  return [windows, items].some(({ planned, lost }) => lost > MAX_FAULT_SHARE * planned);
}

const MESSAGE_CHARACTERS = 300;

export function faultShareText(name: string, share: FaultShare): string {
  const { windows, items, boundaries, first = '' } = share;
  const who = Object.entries(boundaries)
    .map(([boundary, count]) => `${boundary} ${count}`)
    .join(', ');
  return `${name}: ${windows.lost} of ${windows.planned} windows and ${items.lost} of ${items.planned} items are faults (${who}), first: ${first.slice(0, MESSAGE_CHARACTERS)}`;
}

function plannedItems({ artifact }: EvaluatedWindow): number {
  return artifact.probes.length + artifact.questions.length;
}
