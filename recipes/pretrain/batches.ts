/** An endless, seeded stream of training batches; a position in it is two numbers, so a killed run goes on where it was. */
import type { CrossEntropySample } from '../../src/core/policy.ts';
import type { Rng } from '../../src/lib/rng.ts';

/** A prompt and the clerk's answer to it, as token ids. */
export interface EncodedExample {
  readonly promptIds: readonly number[];
  readonly answerIds: readonly number[];
}

export interface Position {
  readonly pool: number;
  /** Batches of the pool that are done. */
  readonly offset: number;
}

export interface BatchOptions {
  /** One pool of a few hundred examples, the same for the same number. */
  readonly examplesOf: (pool: number) => Promise<readonly EncodedExample[]>;
  readonly rng: Rng;
  /** Padded tokens a batch. */
  readonly batchTokens: number;
  /** Loss weight of a prompt token; an answer token has 1. */
  readonly promptWeight: number;
}

export interface Batch {
  readonly samples: readonly CrossEntropySample[];
  readonly tokens: number;
  readonly next: Position;
}

export async function* batchesFrom(
  start: Position,
  options: BatchOptions,
): AsyncGenerator<Batch, never> {
  let { pool, offset } = start;
  for (;;) {
    const groups = groupPool(await options.examplesOf(pool), options, pool);
    for (; offset < groups.length; offset++) {
      const group = groups[offset] ?? [];
      yield {
        samples: group.map((example) => toSample(example, options.promptWeight)),
        tokens: group.reduce((sum, example) => sum + lengthOf(example), 0),
        next: { pool, offset: offset + 1 },
      };
    }
    pool += 1;
    offset = 0;
  }
}

/** Neighbours in length share a batch, so that little is spent on padding; batches come in random order. */
function groupPool(
  examples: readonly EncodedExample[],
  { batchTokens, rng }: BatchOptions,
  pool: number,
): EncodedExample[][] {
  const stream = rng.fork(`pool ${pool}`);
  const ordered = stream.shuffle(examples).sort((a, b) => lengthOf(a) - lengthOf(b));
  const groups: EncodedExample[][] = [];
  let group: EncodedExample[] = [];
  for (const example of ordered) {
    if (group.length > 0 && lengthOf(example) * (group.length + 1) > batchTokens) {
      groups.push(group);
      group = [];
    }
    group.push(example);
  }
  if (group.length > 0) groups.push(group);
  return stream.shuffle(groups);
}

function lengthOf({ promptIds, answerIds }: EncodedExample): number {
  return promptIds.length + answerIds.length;
}

function toSample(
  { promptIds, answerIds }: EncodedExample,
  promptWeight: number,
): CrossEntropySample {
  const tokenIds = [...promptIds, ...answerIds];
  if (promptWeight === 0) {
    return {
      kind: 'cross-entropy',
      tokenIds,
      from: promptIds.length,
      weights_N: answerIds.map(() => 1),
    };
  }
  const weights_N = tokenIds.slice(1).map((_, i) => (i + 1 < promptIds.length ? promptWeight : 1));
  return { kind: 'cross-entropy', tokenIds, from: 1, weights_N };
}
