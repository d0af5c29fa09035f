/** Keys and values of all running calls, one slot each, in arrays that the native runtime writes in place. */
import type { LlamaConfig } from './config.ts';
import type { Tensor, Tensors } from './executor.ts';
import { cacheNames } from './inference.ts';

export interface CacheRange {
  readonly start: number;
  readonly count: number;
}

export class KeyValueCache {
  readonly #config: LlamaConfig;
  readonly #arrays: ReadonlyMap<string, Float32Array>;

  constructor(config: LlamaConfig, slots: number) {
    this.#config = config;
    const size = slots * config.keyValueHeads * config.contextLength * config.headDim;
    const arrays = new Map<string, Float32Array>();
    for (let layer = 0; layer < config.layers; layer++) {
      const names = cacheNames(layer);
      arrays.set(names.pastKey, new Float32Array(size));
      arrays.set(names.pastValue, new Float32Array(size));
    }
    this.#arrays = arrays;
  }

  /** The slots of a range as what a run reads and, in the same memory, as what it writes. */
  window(range: CacheRange): { readonly feeds: Tensors; readonly into: Tensors } {
    const feeds: Record<string, Tensor> = {};
    const into: Record<string, Tensor> = {};
    for (let layer = 0; layer < this.#config.layers; layer++) {
      const names = cacheNames(layer);
      const key = this.#tensor(names.pastKey, range);
      const value = this.#tensor(names.pastValue, range);
      feeds[names.pastKey] = key;
      feeds[names.pastValue] = value;
      into[names.presentKey] = key;
      into[names.presentValue] = value;
    }
    return { feeds, into };
  }

  /** Copies the first `length` positions of a slot over another slot. */
  copy({ from, to, length }: SlotCopy): void {
    const { keyValueHeads, contextLength, headDim } = this.#config;
    const head = contextLength * headDim;
    for (const array of this.#arrays.values()) {
      for (let index = 0; index < keyValueHeads; index++) {
        const source = (from * keyValueHeads + index) * head;
        const target = (to * keyValueHeads + index) * head;
        array.copyWithin(target, source, source + length * headDim);
      }
    }
  }

  #tensor(name: string, { start, count }: CacheRange): Tensor {
    const { keyValueHeads, contextLength, headDim } = this.#config;
    const slot = keyValueHeads * contextLength * headDim;
    const array = this.#arrays.get(name);
    if (array === undefined) throw new Error(`no cache ${name}`);
    return {
      dims: [count, keyValueHeads, contextLength, headDim],
      data: array.subarray(start * slot, (start + count) * slot),
    };
  }
}

export interface SlotCopy {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}
