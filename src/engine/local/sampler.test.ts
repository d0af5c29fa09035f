import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRng } from '../../lib/rng.ts';
import { ContextOverflowError, type PolicyEngine, type SampleOptions } from '../contract.ts';
import { drawToken } from './draw.ts';
import { createLocalEngine } from './engine.ts';
import { createTypescriptExecutor } from './execute-typescript.ts';
import { ADAM, LOSS, tinyPolicy } from './testing.ts';

const prompt = (seed: string, length: number): number[] => {
  const rng = createRng(seed);
  return Array.from({ length }, () => rng.int(0, 12));
};

const options = (changes: Partial<SampleOptions> = {}): SampleOptions => ({
  maxTokens: 12,
  temperature: 1,
  stopIds: [],
  seed: 'call',
  ...changes,
});

const fail = (message: string): never => {
  throw new Error(message);
};

function native(): PolicyEngine {
  return createLocalEngine(tinyPolicy({ keyValueHeads: 1 }), { threads: 1, warn: fail });
}

describe('sampling', () => {
  let engine: PolicyEngine;
  beforeAll(() => {
    engine = native();
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
  });

  test('a call does not depend on what else is in the batch', async () => {
    const alone = await engine.sample(prompt('mine', 20), options({ seed: 'mine' }));
    for (const crowd of [1, 2, 7, 40]) {
      const others = Array.from({ length: crowd }, (_, i) =>
        engine.sample(
          prompt(`other ${i}`, 3 + ((i * 11) % 45)),
          options({ seed: `other ${i}`, maxTokens: 3 + (i % 15) }),
        ),
      );
      const mine = await engine.sample(prompt('mine', 20), options({ seed: 'mine' }));
      expect(mine).toEqual(alone);
      await Promise.all(others);
    }
  });

  test('a call that joins a running batch gives what it gives alone', async () => {
    const late = options({ seed: 'late' });
    const alone = await engine.sample(prompt('late', 40), late);
    const running = engine.sample(prompt('early', 4), options({ maxTokens: 50, seed: 'early' }));
    await engine.sample(prompt('first', 5), options({ maxTokens: 6, seed: 'first' }));
    expect(await engine.sample(prompt('late', 40), late)).toEqual(alone);
    await running;
  });

  test('log-probabilities are those that scoring gives', async () => {
    const completions = await Promise.all(
      [5, 5, 17, 33].map(async (length, i) => {
        const ids = prompt(`p${length}`, length);
        const { tokenIds, logprobs } = await engine.sample(ids, options({ seed: `s${i}` }));
        const scores = await engine.score([...ids, ...tokenIds], length);
        return logprobs.map((logprob, k) => Math.abs(logprob - Number(scores[k])));
      }),
    );
    expect(Math.max(...completions.flat())).toBeLessThan(1e-5);
  });

  test('both executors sample the same tokens', async () => {
    const executor = createTypescriptExecutor({ precision: 'single' });
    await using plain = createLocalEngine(tinyPolicy({ keyValueHeads: 1 }), {
      threads: 1,
      warn: fail,
      executor,
    });
    const ids = prompt('p', 9);
    const a = await engine.sample(ids, options());
    const b = await plain.sample(ids, options());
    expect(b.tokenIds).toEqual(a.tokenIds);
    for (const [k, logprob] of b.logprobs.entries())
      expect(logprob).toBeCloseTo(Number(a.logprobs[k]), 4);
  });

  test('seeds decide; temperature 0 takes the likeliest token', async () => {
    const ids = prompt('p', 6);
    const [a, b, again] = await Promise.all(
      ['a', 'b', 'a'].map((seed) => engine.sample(ids, options({ seed }))),
    );
    expect(again).toEqual(a);
    expect(b?.tokenIds).not.toEqual(a?.tokenIds);
    const greedy = await engine.sample(ids, options({ temperature: 0, maxTokens: 1 }));
    const candidates = await Promise.all(
      Array.from({ length: 13 }, async (_, id) => Number((await engine.score([...ids, id], 6))[0])),
    );
    expect(greedy.tokenIds).toEqual([candidates.indexOf(Math.max(...candidates))]);
  });

  test('stops at a stop token, at the limit, or where the context ends', async () => {
    const ids = prompt('p', 6);
    const free = await engine.sample(ids, options());
    expect(free.stopReason).toBe('length');
    expect(free.tokenIds).toHaveLength(12);
    const third = Number(free.tokenIds[2]);
    const stopped = await engine.sample(ids, options({ stopIds: [third] }));
    expect(stopped.stopReason).toBe('stop');
    expect(stopped.tokenIds).toEqual(free.tokenIds.slice(0, free.tokenIds.indexOf(third) + 1));
    const full = await engine.sample(prompt('full', 60), options());
    expect(full.stopReason).toBe('length');
    expect(full.tokenIds).toHaveLength(4);
  });

  test('a prompt that leaves no room is a context overflow', async () => {
    await expect(engine.sample(prompt('long', 64), options())).rejects.toThrow(
      ContextOverflowError,
    );
    expect((await engine.sample(prompt('long', 63), options())).tokenIds).toHaveLength(1);
  });

  test('bad calls are refused in one sentence', async () => {
    await expect(engine.sample([], options())).rejects.toThrow('the prompt is empty');
    await expect(engine.sample([13], options())).rejects.toThrow(
      'token 13 is not in the vocabulary',
    );
    await expect(engine.score([1, 2], 0)).rejects.toThrow('nothing predicts token 0');
  });

  test('an aborted call rejects and leaves the others as they are', async () => {
    const controller = new AbortController();
    const alone = await engine.sample(prompt('p', 6), options({ maxTokens: 40 }));
    const { signal } = controller;
    const doomed = engine.sample(prompt('q', 7), options({ maxTokens: 50, signal }));
    const other = engine.sample(prompt('p', 6), options({ maxTokens: 40 }));
    setImmediate(() => controller.abort(new Error('not wanted any more')));
    await expect(doomed).rejects.toThrow('not wanted any more');
    expect(await other).toEqual(alone);
    await expect(engine.sample(prompt('q', 7), options({ signal }))).rejects.toThrow('not wanted');
  });
});

test('samples come from published weights, each with its version', async () => {
  await using engine = native();
  const ids = prompt('p', 6);
  const before = await engine.sample(ids, options());
  const sample = {
    kind: 'cross-entropy' as const,
    tokenIds: ids,
    from: 1,
    weights_N: [1, 1, 1, 1, 1],
  };
  await engine.step([sample], LOSS, { ...ADAM, learningRate: 0.1 });
  expect(await engine.sample(ids, options())).toEqual(before);
  const running = engine.sample(ids, options());
  const version = await engine.publish();
  const after = await engine.sample(ids, options());
  expect(await running).toEqual(before);
  expect([before.policyVersion, version, after.policyVersion]).toEqual([0, 1, 1]);
  expect(after.logprobs).not.toEqual(before.logprobs);
});

test('tokens are drawn in proportion to their probability', () => {
  const probabilities = Float32Array.of(0.5, 0, 0.2, 0.3);
  const row = { probabilities, logprobs: probabilities.map(Math.log), start: 0, size: 4 };
  const draw = (temperature: number, uniform: number) => drawToken(row, temperature, uniform);
  expect([0, 0.49, 0.51, 0.69, 0.71, 0.9999999].map((u) => draw(1, u))).toEqual([0, 0, 2, 2, 3, 3]);
  expect(draw(0, 0.99)).toBe(0);
  // At temperature 1/2 the weights are .25, .04, .09 of .38.
  expect([0.65, 0.67, 0.76, 0.77].map((u) => draw(0.5, u))).toEqual([0, 2, 2, 3]);
});
