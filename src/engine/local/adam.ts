/** Adam with decoupled weight decay, bias correction and clipping by global norm, over the flat array. */
import type { OptimiserOptions } from '../contract.ts';
import type { OptimiserState } from './parameters.ts';

export function initialOptimiserState(length: number): OptimiserState {
  return { m: new Float32Array(length), v: new Float32Array(length), step: 0 };
}

/** Euclidean length of the whole gradient, in double precision, in four sums so that additions need not wait for each other. */
export function gradientNorm(gradient: Float32Array): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  const even = gradient.length - (gradient.length % 4);
  for (let i = 0; i < even; i += 4) {
    a += (gradient[i] as number) ** 2;
    b += (gradient[i + 1] as number) ** 2;
    c += (gradient[i + 2] as number) ** 2;
    d += (gradient[i + 3] as number) ** 2;
  }
  for (let i = even; i < gradient.length; i++) a += (gradient[i] as number) ** 2;
  return Math.sqrt(a + b + c + d);
}

export interface AdamUpdate {
  readonly weights: Float32Array;
  readonly gradient: Float32Array;
  readonly gradNorm: number;
  readonly options: OptimiserOptions;
}

/** Updates weights and moments in place; returns the state with its step counted. */
export function adamStep(state: OptimiserState, update: AdamUpdate): OptimiserState {
  const { weights, gradient, gradNorm, options } = update;
  const { m, v } = state;
  const { beta1, beta2, epsilon, learningRate, maxGradNorm } = options;
  const step = state.step + 1;
  const clip = gradNorm > maxGradNorm ? maxGradNorm / gradNorm : 1;
  const rate = learningRate / (1 - beta1 ** step);
  const secondScale = 1 / (1 - beta2 ** step);
  const keep = 1 - learningRate * options.weightDecay;
  for (let i = 0; i < weights.length; i++) {
    const g = (gradient[i] as number) * clip;
    const first = beta1 * (m[i] as number) + (1 - beta1) * g;
    const second = beta2 * (v[i] as number) + (1 - beta2) * g * g;
    m[i] = first;
    v[i] = second;
    const move = (rate * first) / (Math.sqrt(second * secondScale) + epsilon);
    weights[i] = (weights[i] as number) * keep - move;
  }
  return { m, v, step };
}
