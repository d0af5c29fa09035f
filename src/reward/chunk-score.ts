/** s[t] = prm + 2·orm − 0.3·pen, and what a malformed action costs (definitions §5). */
import type { ChunkScore, ChunkWrite } from '../core/trace.ts';
import type { RewardOptions } from './options.ts';
import { growthPenalty, growthRatio } from './penalty.ts';
import type { Term } from './prm.ts';

export interface Terms {
  readonly prm: Term;
  readonly orm: Term;
}

/** An absent or voided term is a constant 0 for every rollout of the group. */
export function chunkScore(write: ChunkWrite, terms: Terms, options: RewardOptions): ChunkScore {
  const pen = growthPenalty(growthRatio(write, options.growth), options.growth);
  const malformed = write.outcome.kind === 'ok' ? write.outcome.recoveredMalformed : 1;
  const score =
    write.outcome.kind === 'ok'
      ? wellFormedScore(terms, pen, options) - options.malformedCost * malformed
      : malformedFloor(options);
  return {
    ...(terms.prm.kind === 'scored' && { prm: terms.prm.value }),
    ...(terms.orm.kind === 'scored' && { orm: terms.orm.value }),
    pen,
    malformed,
    voidedTerms: (['prm', 'orm'] as const).filter((name) => terms[name].kind === 'voided'),
    score,
  };
}

/** Below every attainable score of a well-formed write: −(0.3 + 0.2). */
export function malformedFloor({ penWeight, malformedCost }: RewardOptions): number {
  return -(penWeight + malformedCost);
}

function wellFormedScore({ prm, orm }: Terms, pen: number, options: RewardOptions): number {
  const penWeight = options.arm === 'no-penalty' ? 0 : options.penWeight;
  return (
    options.prmWeight * valueOrZero(prm) + options.ormWeight * valueOrZero(orm) - penWeight * pen
  );
}

function valueOrZero(term: Term): number {
  return term.kind === 'scored' ? term.value : 0;
}
