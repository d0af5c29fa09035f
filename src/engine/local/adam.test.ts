import { expect, test } from 'vitest';
import { adamStep, gradientNorm, initialOptimiserState } from './adam.ts';
import { ADAM } from './testing.ts';

const options = { ...ADAM, learningRate: 0.1, maxGradNorm: 10, epsilon: 0 };

test('the first step moves every weight by the learning rate against its gradient', () => {
  const weights = Float32Array.of(1, 1, 1);
  const gradient = Float32Array.of(0.5, -2, 0.001);
  const update = { weights, gradient, gradNorm: gradientNorm(gradient), options };
  const { step } = adamStep(initialOptimiserState(3), update);
  expect(step).toBe(1);
  expect(Array.from(weights, (weight) => Math.round(weight * 1e5) / 1e5)).toEqual([0.9, 1.1, 0.9]);
});

test('equals the published recursion over several steps', () => {
  const weights = Float32Array.of(2);
  let state = initialOptimiserState(1);
  let [m, v, expected] = [0, 0, 2];
  for (const [index, g] of [0.3, -0.1, 0.7].entries()) {
    const gradient = Float32Array.of(g);
    state = adamStep(state, { weights, gradient, gradNorm: Math.abs(g), options });
    m = 0.9 * m + 0.1 * g;
    v = 0.95 * v + 0.05 * g * g;
    const t = index + 1;
    expected -= (0.1 * (m / (1 - 0.9 ** t))) / Math.sqrt(v / (1 - 0.95 ** t));
    expect(weights[0]).toBeCloseTo(expected, 5);
  }
});

test('clips by global norm and decays weights apart from the gradient', () => {
  const clipped = initialOptimiserState(2);
  const gradient = Float32Array.of(3, 4);
  const limits = { ...options, maxGradNorm: 1 };
  adamStep(clipped, { weights: Float32Array.of(0, 0), gradient, gradNorm: 5, options: limits });
  expect(clipped.m[0]).toBeCloseTo(0.06, 6);
  expect(clipped.m[1]).toBeCloseTo(0.08, 6);
  const weights = Float32Array.of(2);
  const decaying = { ...options, weightDecay: 0.5, epsilon: 1e-8 };
  const still = { gradient: Float32Array.of(0), gradNorm: 0, options: decaying };
  adamStep(initialOptimiserState(1), { weights, ...still });
  expect(weights[0]).toBeCloseTo(2 * (1 - 0.1 * 0.5), 6);
});
