/** Adds up what a gateway's calls used; what a provider did not report is counted as such, never as zero. */
import type { Usage } from '../core/chat.ts';
import type { Call } from '../core/trace.ts';

export interface UsageSummary {
  readonly calls: number;
  readonly faults: number;
  /** `null` where answers came and none had usage. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Answered calls whose provider reported no usage. */
  readonly callsWithoutUsage: number;
  /** `null` where no price is known. */
  readonly costUsd: number | null;
}

/** A summary without what is unknown. */
export type KnownUsage = { readonly [K in keyof UsageSummary]?: NonNullable<UsageSummary[K]> };

export interface UsageMeter {
  add(call: Pick<Call, 'outcome' | 'usage'>): void;
  summary(): UsageSummary;
}

export function createUsageMeter(): UsageMeter {
  let calls = 0;
  let faults = 0;
  let callsWithoutUsage = 0;
  const used: Usage[] = [];
  return {
    add: ({ outcome, usage }) => {
      calls += 1;
      if (outcome.kind === 'fault') faults += 1;
      if (usage !== undefined) used.push(usage);
      else if (outcome.kind !== 'fault') callsWithoutUsage += 1;
    },
    summary: () => {
      const unknown = used.length === 0 && callsWithoutUsage > 0;
      const costs = used.flatMap(({ costUsd }) => costUsd ?? []);
      return {
        calls,
        faults,
        promptTokens: unknown ? null : sum(used.map(({ promptTokens }) => promptTokens)),
        completionTokens: unknown
          ? null
          : sum(used.map(({ completionTokens }) => completionTokens)),
        callsWithoutUsage,
        costUsd: costs.length === 0 ? null : sum(costs),
      };
    },
  };
}

export function knownUsage(summary: UsageSummary): KnownUsage {
  return Object.fromEntries(Object.entries(summary).filter(([, value]) => value !== null));
}

/** Lines that a person reads. */
export function usageLines({
  calls,
  faults,
  promptTokens,
  completionTokens,
  callsWithoutUsage,
  costUsd,
}: UsageSummary): string[] {
  const tokens =
    promptTokens === null || completionTokens === null
      ? 'tokens unknown'
      : `${promptTokens} prompt and ${completionTokens} completion tokens`;
  const cost = costUsd === null ? 'cost unknown' : `${costUsd.toFixed(4)} USD`;
  return [
    `${calls} calls, ${faults} of them faults; ${tokens}, ${cost}`,
    ...(callsWithoutUsage > 0 ? [`${callsWithoutUsage} answers came without usage`] : []),
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
