/** Means over trained tokens that a step reports, gathered over its micro-batches. */
import type { LossOptions } from '../contract.ts';
import { floats, type Tensors } from './executor.ts';
import type { LossBatch } from './loss-feeds.ts';

const PER_ROW = { entropy: 'entropy', kl: 'kl', mass: 'studentMassOnTopK' } as const;

export class StepMetrics {
  readonly #loss: LossOptions;
  readonly #sums = new Map<string, { total: number; count: number }>();
  #lossSum = 0;
  #trainedTokens = 0;
  #ratioMax = 0;

  constructor(loss: LossOptions) {
    this.#loss = loss;
  }

  add(batch: LossBatch, results: Tensors): void {
    this.#lossSum += Number(floats(results, 'loss')[0]);
    this.#trainedTokens += batch.rows.length;
    for (const [output, metric] of Object.entries(PER_ROW)) {
      if (output in results) this.#addAll(metric, floats(results, output));
    }
    const { recorded, advantage } = batch;
    if (recorded === undefined || advantage === undefined) return;
    const ratios = floats(results, 'logprobs').map((now, row) =>
      Math.exp(now - Number(recorded[row])),
    );
    this.#addAll('ratioMean', ratios);
    this.#addAll(
      'clipShare',
      ratios.map((ratio, row) => (this.#isClipped(ratio, Number(advantage[row])) ? 1 : 0)),
    );
    for (const ratio of ratios) this.#ratioMax = Math.max(this.#ratioMax, ratio);
  }

  report(): {
    readonly loss: number;
    readonly trainedTokens: number;
    readonly metrics: Readonly<Record<string, number>>;
  } {
    const means = [...this.#sums].map(([name, { total, count }]) => [name, total / count] as const);
    const metrics: Record<string, number> = Object.fromEntries(means);
    if ('ratioMean' in metrics) metrics['ratioMax'] = this.#ratioMax;
    return { loss: this.#lossSum, trainedTokens: this.#trainedTokens, metrics };
  }

  /** Where the surrogate is flat: the ratio has left the trust region in the direction of its advantage. */
  #isClipped(ratio: number, advantage: number): boolean {
    const { clipLow, clipHigh } = this.#loss;
    return advantage > 0 ? ratio > 1 + clipHigh : advantage < 0 && ratio < 1 - clipLow;
  }

  #addAll(name: string, values: ArrayLike<number>): void {
    const sum = this.#sums.get(name) ?? { total: 0, count: 0 };
    for (let i = 0; i < values.length; i++) sum.total += Number(values[i]);
    sum.count += values.length;
    this.#sums.set(name, sum);
  }
}
