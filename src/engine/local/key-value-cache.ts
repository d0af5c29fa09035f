/** Keys and values of all running calls, one slot each: read by the decode graph in place, written here. */
import type { LlamaConfig } from './config.ts';
import { floats, type Tensor, type Tensors } from './executor.ts';

/** Added to the scores of positions that hold nothing. */
const MASKED = -1e9;
/** Growing in these steps keeps the sums of a row the same whatever the capacity. */
const CAPACITY_STEP = 64;

export function cacheNames(layer: number) {
  return {
    keys: `keys ${layer}`,
    values: `values ${layer}`,
    newKeys: `new keys ${layer}`,
    newValues: `new values ${layer}`,
  } as const;
}

interface LayerCache {
  /** [slot, kvHeads, headDim, capacity]: transposed, so that scores are a row times a matrix. */
  readonly keys: Float32Array;
  /** [slot, kvHeads, capacity, headDim]. */
  readonly values: Float32Array;
}

export class KeyValueCache {
  readonly #config: LlamaConfig;
  readonly #slots: number;
  #capacity = 0;
  #layers: readonly LayerCache[] = [];
  #mask = new Float32Array(0);
  readonly #lengths: number[];

  constructor(config: LlamaConfig, slots: number) {
    this.#config = config;
    this.#slots = slots;
    this.#lengths = new Array<number>(slots).fill(0);
  }

  /** Makes room for rows of this length, keeping what is there. */
  reserve(length: number): void {
    if (length <= this.#capacity) return;
    const old = { layers: this.#layers, capacity: this.#capacity };
    this.#capacity = Math.ceil(length / CAPACITY_STEP) * CAPACITY_STEP;
    const size = this.#slots * this.#slotSize();
    this.#layers = Array.from({ length: this.#config.layers }, () => ({
      keys: new Float32Array(size),
      values: new Float32Array(size),
    }));
    this.#mask = new Float32Array(this.#slots * this.#capacity).fill(MASKED);
    for (const [slot, length] of this.#lengths.entries()) {
      if (length === 0) continue;
      this.#mask.fill(0, slot * this.#capacity, slot * this.#capacity + length);
      for (const [layer, { keys, values }] of old.layers.entries()) {
        this.#copyRows(
          layer,
          { keys, values, capacity: old.capacity, row: slot },
          { slot, length },
        );
      }
    }
  }

  /** Puts row `row` of a prefill's results (padded to `padded` positions) into a slot. */
  load(slot: number, results: Tensors, { row, length, padded }: PrefilledRow): void {
    this.#setLength(slot, length);
    for (let layer = 0; layer < this.#config.layers; layer++) {
      const names = cacheNames(layer);
      const keys = floats(results, names.newKeys);
      const values = floats(results, names.newValues);
      this.#copyRows(layer, { keys, values, capacity: padded, row }, { slot, length });
    }
  }

  /** Appends what a decode step computed for the slots 0, 1, …, count − 1. */
  append(results: Tensors, count: number): void {
    const { keyValueHeads, headDim, layers } = this.#config;
    const width = keyValueHeads * headDim;
    for (let layer = 0; layer < layers; layer++) {
      const names = cacheNames(layer);
      const newKeys = floats(results, names.newKeys);
      const newValues = floats(results, names.newValues);
      const { keys, values } = this.#layer(layer);
      for (let slot = 0; slot < count; slot++) {
        const position = this.#lengths[slot] as number;
        const base = slot * this.#slotSize();
        for (let i = 0; i < width; i++) {
          keys[base + i * this.#capacity + position] = newKeys[slot * width + i] as number;
        }
        for (let head = 0; head < keyValueHeads; head++) {
          const from = slot * width + head * headDim;
          const to = base + (head * this.#capacity + position) * headDim;
          values.set(newValues.subarray(from, from + headDim), to);
        }
      }
    }
    for (let slot = 0; slot < count; slot++) this.#setLength(slot, this.length(slot) + 1);
  }

  /** Moves a whole slot onto another. */
  move(from: number, to: number): void {
    const size = this.#slotSize();
    for (const { keys, values } of this.#layers) {
      keys.copyWithin(to * size, from * size, (from + 1) * size);
      values.copyWithin(to * size, from * size, (from + 1) * size);
    }
    this.#setLength(to, this.length(from));
  }

  clear(slot: number): void {
    this.#setLength(slot, 0);
  }

  /** Positions held by a slot. */
  length(slot: number): number {
    const length = this.#lengths[slot];
    if (length === undefined) throw new Error(`no slot ${slot}`);
    return length;
  }

  /** The first `count` slots as the decode graph reads them. */
  feeds(count: number): Tensors {
    const { keyValueHeads, headDim } = this.#config;
    const capacity = this.#capacity;
    const size = count * this.#slotSize();
    const tensors: Record<string, Tensor> = {
      mask: {
        dims: [count, 1, 1, capacity],
        data: this.#mask.subarray(0, count * capacity),
      },
      parts: { dims: [2], data: BigInt64Array.of(BigInt(capacity), 1n) },
    };
    for (const [layer, { keys, values }] of this.#layers.entries()) {
      const names = cacheNames(layer);
      tensors[names.keys] = {
        dims: [count, keyValueHeads, headDim, capacity],
        data: keys.subarray(0, size),
      };
      tensors[names.values] = {
        dims: [count, keyValueHeads, capacity, headDim],
        data: values.subarray(0, size),
      };
    }
    return tensors;
  }

  #slotSize(): number {
    return this.#config.keyValueHeads * this.#config.headDim * this.#capacity;
  }

  #layer(layer: number): LayerCache {
    const cache = this.#layers[layer];
    if (cache === undefined) throw new Error(`the cache has no layer ${layer}`);
    return cache;
  }

  #setLength(slot: number, length: number): void {
    const start = slot * this.#capacity;
    const before = this.length(slot);
    this.#mask.fill(0, start + before, start + length);
    if (length < before) this.#mask.fill(MASKED, start + length, start + before);
    this.#lengths[slot] = length;
  }

  #copyRows(layer: number, source: RowSource, { slot, length }: RowTarget): void {
    const { keyValueHeads, headDim } = this.#config;
    const { keys, values } = this.#layer(layer);
    const base = slot * this.#slotSize();
    const sourceBase = source.row * keyValueHeads * headDim * source.capacity;
    for (let i = 0; i < keyValueHeads * headDim; i++) {
      const from = sourceBase + i * source.capacity;
      keys.set(source.keys.subarray(from, from + length), base + i * this.#capacity);
    }
    for (let head = 0; head < keyValueHeads; head++) {
      const from = sourceBase + head * source.capacity * headDim;
      const to = base + head * this.#capacity * headDim;
      values.set(source.values.subarray(from, from + length * headDim), to);
    }
  }
}

interface PrefilledRow {
  readonly row: number;
  readonly length: number;
  readonly padded: number;
}

interface RowSource {
  readonly keys: ArrayLike<number> & { subarray(from: number, to: number): ArrayLike<number> };
  readonly values: ArrayLike<number> & { subarray(from: number, to: number): ArrayLike<number> };
  readonly capacity: number;
  readonly row: number;
}

interface RowTarget {
  readonly slot: number;
  readonly length: number;
}
