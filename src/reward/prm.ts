/** prm[t]: the flat mean of r over the probes of one chunk, traps included (definitions §5). */
import type { Probe } from '../core/exam.ts';
import type { RewardOptions } from './options.ts';

/** r by item id, for every item that all valid rollouts of the group have a grade for. */
export type Scores = ReadonlyMap<string, number>;

/** A term has a value, is absent by design (nothing asked), or was emptied by item faults, which voids the column. */
export type Term =
  | { readonly kind: 'scored'; readonly value: number }
  | { readonly kind: 'absent' }
  | { readonly kind: 'voided' };

/** The probes of a chunk that the arm counts. */
export function probesOf(
  chunkId: string,
  probes: readonly Probe[],
  { arm }: Pick<RewardOptions, 'arm'>,
): readonly Probe[] {
  const own = probes.filter((probe) => probe.chunkId === chunkId);
  return arm === 'no-trap' ? own.filter(({ kind }) => kind !== 'trap') : own;
}

export function processTerm(probes: readonly Probe[], scores: Scores): Term {
  return meanTerm(probes.map(({ id }) => scores.get(id)));
}

/** Mean over what is graded; `absent` when nothing was asked, `voided` when all that was asked was removed. */
export function meanTerm(values: readonly (number | undefined)[]): Term {
  if (values.length === 0) return { kind: 'absent' };
  const graded = values.filter((value) => value !== undefined);
  if (graded.length === 0) return { kind: 'voided' };
  return { kind: 'scored', value: graded.reduce((sum, value) => sum + value, 0) / graded.length };
}
