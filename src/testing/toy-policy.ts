/** A policy of four weights with exact gradients: whether training learns is decided by the loop, not by the model. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Sample, TopK } from '../core/policy.ts';
import type {
  Completion,
  LossOptions,
  OptimiserOptions,
  PolicyEngine,
  SampleOptions,
  StepReport,
  Teacher,
} from '../engine/contract.ts';
import { createRng } from '../lib/rng.ts';
import { accumulate, type Decision } from './toy-gradient.ts';
import { ASK, END, JUNK, KINDS, keepId, skipId, VOCABULARY_SIZE } from './toy-tokens.ts';

/** Logits of keeping a message of each kind, and last of ending in junk. */
export type ToyWeights = readonly number[];

const stateSchema = z.object({
  weights: z.array(z.number()),
  first: z.array(z.number()),
  second: z.array(z.number()),
  updates: z.int(),
  policyVersion: z.int(),
});
type ToyState = z.infer<typeof stateSchema>;

/** A start directory: p(keep) of a fact, of chatter and of anything else, and p(junk). */
export async function createToyPolicy(
  directory: string,
  probabilities: readonly [fact: number, chat: number, other: number, junk: number],
): Promise<void> {
  const weights = probabilities.map((p) => Math.log(p / (1 - p)));
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'policy.json'), JSON.stringify(freshState(weights)));
}

/** `fresh` takes the weights alone. */
export async function openToyPolicy(
  directory: string,
  start: 'fresh' | 'resumed' = 'resumed',
): Promise<ToyPolicy> {
  const text = await readFile(join(directory, 'policy.json'), 'utf8');
  const state = stateSchema.parse(JSON.parse(text));
  return new ToyPolicy(start === 'fresh' ? freshState(state.weights) : state);
}

function freshState(weights: number[]): ToyState {
  const zeros = weights.map(() => 0);
  return { weights, first: zeros, second: zeros, updates: 0, policyVersion: 0 };
}

export class ToyPolicy implements PolicyEngine, Teacher {
  readonly contextLength = 1024;
  readonly vocabularySize = VOCABULARY_SIZE;
  #trained: ToyState;
  #published: ToyState;

  constructor(state: ToyState) {
    this.#trained = state;
    this.#published = state;
  }

  get policyVersion(): number {
    return this.#published.policyVersion;
  }

  get weights(): ToyWeights {
    return this.#published.weights;
  }

  async sample(promptIds: readonly number[], options: SampleOptions): Promise<Completion> {
    const rng = createRng(options.seed);
    const tokenIds: number[] = [];
    const logprobs: number[] = [];
    for (;;) {
      const decision = decide([...promptIds, ...tokenIds], this.#published.weights);
      const yes = rng.next() < decision.probability;
      tokenIds.push(yes ? decision.yes : decision.no);
      logprobs.push(Math.log(yes ? decision.probability : 1 - decision.probability));
      if (tokenIds.at(-1) === END) break;
    }
    return { tokenIds, logprobs, stopReason: 'stop', policyVersion: this.policyVersion };
  }

  async score(tokenIds: readonly number[], from: number): Promise<number[]> {
    return tokenIds.slice(from).map((id, i) => {
      const { yes, probability } = decide(tokenIds.slice(0, from + i), this.#trained.weights);
      return Math.log(id === yes ? probability : 1 - probability);
    });
  }

  async topK(tokenIds: readonly number[], from: number): Promise<TopK[]> {
    return tokenIds.slice(from).map((_, i) => {
      const { yes, no, probability } = decide(tokenIds.slice(0, from + i), this.#published.weights);
      if (yes === no) return { ids: [yes], logprobs: [0] };
      return { ids: [yes, no], logprobs: [Math.log(probability), Math.log(1 - probability)] };
    });
  }

  async step(
    samples: readonly Sample[],
    loss: LossOptions,
    optimiser: OptimiserOptions,
  ): Promise<StepReport> {
    const { weights } = this.#trained;
    const report = accumulate(samples, loss, (prefix) => decide(prefix, weights));
    if (report.outcome === 'updated') this.#trained = adam(this.#trained, report, optimiser);
    const { gradient: _, ...rest } = report;
    return rest;
  }

  async publish(): Promise<number> {
    const policyVersion = this.#published.policyVersion + 1;
    this.#trained = { ...this.#trained, policyVersion };
    this.#published = this.#trained;
    return policyVersion;
  }

  async save(directory: string): Promise<void> {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'policy.json'), JSON.stringify(this.#trained));
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** The two-way choice that follows a prefix; a forced token is a choice of probability 1. */
function decide(prefix: readonly number[], weights: ToyWeights): Decision {
  const ask = prefix.indexOf(ASK);
  const messages = prefix.slice(0, ask);
  const position = prefix.length - ask - 1;
  if (prefix.at(-1) === JUNK) return { yes: END, no: END, probability: 1, weight: undefined };
  const kind = messages[position];
  const weight = kind === undefined ? KINDS.length : kind;
  const probability = 1 / (1 + Math.exp(-(weights[weight] ?? Number.NaN)));
  return kind === undefined
    ? { yes: JUNK, no: END, probability, weight }
    : { yes: keepId(position), no: skipId(position), probability, weight };
}

function adam(
  state: ToyState,
  { gradient }: { readonly gradient: readonly number[] },
  { learningRate, beta1, beta2, epsilon }: OptimiserOptions,
): ToyState {
  const updates = state.updates + 1;
  const first = state.first.map((m, i) => beta1 * m + (1 - beta1) * (gradient[i] ?? Number.NaN));
  const second = state.second.map(
    (v, i) => beta2 * v + (1 - beta2) * (gradient[i] ?? Number.NaN) ** 2,
  );
  const weights = state.weights.map((w, i) => {
    const m = (first[i] ?? Number.NaN) / (1 - beta1 ** updates);
    const v = (second[i] ?? Number.NaN) / (1 - beta2 ** updates);
    return w - (learningRate * m) / (Math.sqrt(v) + epsilon);
  });
  return { ...state, weights, first, second, updates };
}
