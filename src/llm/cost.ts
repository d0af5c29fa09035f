/** What a call cost. An unknown price gives no cost, never zero. */
import { z } from 'zod';
import type { Usage } from '../core/chat.ts';
import type { WireUsage } from './wire.ts';

export const priceSchema = z.strictObject({
  promptUsdPerMillion: z.number().nonnegative(),
  completionUsdPerMillion: z.number().nonnegative(),
});
export type Price = z.infer<typeof priceSchema>;
/** By model name, as it is sent to the provider. */
export type PriceTable = Readonly<Record<string, Price>>;

/** `undefined` where the provider reported no complete usage. */
export function usageOf(
  usage: WireUsage | null | undefined,
  price: Price | undefined,
): Usage | undefined {
  if (usage?.completion_tokens === undefined) return undefined;
  const promptTokens = usage.prompt_tokens;
  const completionTokens = usage.completion_tokens;
  if (price === undefined) return { promptTokens, completionTokens };
  const costUsd =
    (promptTokens * price.promptUsdPerMillion + completionTokens * price.completionUsdPerMillion) /
    1e6;
  return { promptTokens, completionTokens, costUsd };
}

export function priceOf(prices: PriceTable, model: string): Price | undefined {
  return Object.hasOwn(prices, model) ? prices[model] : undefined;
}
