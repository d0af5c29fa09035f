/** A gateway whose relays are metered: what a provider was paid for counts, also where the write came to nothing. */
import type { Gateway, Slot } from '../gateway/contract.ts';
import type { UsageMeter } from './usage-meter.ts';

export function meterRelays(gateway: Gateway, meter: UsageMeter): Gateway {
  return {
    baseUrl: gateway.baseUrl,
    get refusals() {
      return gateway.refusals;
    },
    openSlot: (options) => {
      const slot = gateway.openSlot(options);
      return options.writer.kind === 'relay' ? meterSlot(slot, meter) : slot;
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

function meterSlot(slot: Slot, meter: UsageMeter): Slot {
  const take = (): ReturnType<Slot['take']> => {
    const calls = slot.take();
    for (const call of calls) meter.add(call);
    return calls;
  };
  return {
    model: slot.model,
    embeddings: slot.embeddings,
    setPurpose: (purpose) => slot.setPurpose(purpose),
    take,
    [Symbol.asyncDispose]: async () => {
      await slot[Symbol.asyncDispose]();
      take();
    },
  };
}
