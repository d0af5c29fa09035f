/** Adds up what a gateway's calls used; what a provider did not report is counted as such, never as zero. */
import type { Usage } from '../core/chat.ts';
import type { Call } from '../core/trace.ts';

export interface UsageSummary {
  readonly calls: number;
  readonly faults: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Answered calls whose provider reported no usage. */
  readonly callsWithoutUsage: number;
  /** `null` where no price is known. */
  readonly costUsd: number | null;
}

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
      const costs = used.flatMap(({ costUsd }) => costUsd ?? []);
      return {
        calls,
        faults,
        promptTokens: sum(used.map(({ promptTokens }) => promptTokens)),
        completionTokens: sum(used.map(({ completionTokens }) => completionTokens)),
        callsWithoutUsage,
        costUsd: costs.length === 0 ? null : sum(costs),
      };
    },
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
