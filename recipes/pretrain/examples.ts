/** From a seed to training examples: world, bank, view, a clerk's answer, token ids. */
import { createRng, type Rng } from '../../src/lib/rng.ts';
import type { PromptTemplate } from '../../src/tokens/contract.ts';
import { clerkRecords } from '../../src/world/clerk.ts';
import { type WorldOptionsInput, worldPresets } from '../../src/world/options.ts';
import { createWorldUser } from '../../src/world/world.ts';
import type { EncodedExample } from './batches.ts';
import { type ChunkCase, casesOf } from './cases.ts';
import { type AnswerStyle, answerText, bankStyle, breakAnswer } from './styles.ts';
import { withInventedWords } from './unseen-words.ts';

/** About this many tokens a pool, so that a pool's number says how far training is. */
export const POOL_TOKENS = 100_000;
const USERS_PER_POOL = 10_000;
const INVENTED_WORD_SHARE = 0.85;
const PRESETS = ['easy', 'demo', 'demo', 'hard'] as const;

export interface ExampleOptions {
  readonly template: PromptTemplate;
  readonly style: AnswerStyle;
  /** World seed: stages with different seeds see different users. */
  readonly seed: number;
  readonly contextLength: number;
  /** Share of users with few, short sessions: cheap to learn copying from. */
  readonly shortShare: number;
}

/** The examples of one pool. Those longer than the context are left out. */
export async function examplesOf(pool: number, options: ExampleOptions): Promise<EncodedExample[]> {
  const { template, style, seed, contextLength } = options;
  const rng = createRng(`pretrain ${seed} ${pool}`);
  const examples: EncodedExample[] = [];
  let tokens = 0;
  for (let i = 0; tokens < POOL_TOKENS; i++) {
    const stream = rng.fork(`user ${i}`);
    const world = worldOptionsOf(stream, options);
    for (const chunk of await trainingCases(world, pool * USERS_PER_POOL + i, stream)) {
      const promptIds = template.render(chunk.messages);
      const answerIds = template.tokenizer.encode(`${answerOf(chunk, style, stream)}<|end|>`);
      const length = promptIds.length + answerIds.length;
      if (length > contextLength) continue;
      examples.push({ promptIds, answerIds });
      tokens += length;
    }
  }
  return examples;
}

function worldOptionsOf(
  rng: Rng,
  { seed, shortShare }: Pick<ExampleOptions, 'seed' | 'shortShare'>,
): WorldOptionsInput {
  const preset = worldPresets[rng.pick(PRESETS)];
  const shared = { ...preset, seed, split: 'train' as const };
  if (!rng.chance(shortShare)) return { ...shared, sessionsPerUser: rng.int(2, 7) };
  const turnsPerSession = rng.int(2, 4);
  const factsPerChunk = { min: 1, max: rng.int(1, turnsPerSession - 1) };
  return { ...shared, turnsPerSession, factsPerChunk, sessionsPerUser: rng.int(1, 2) };
}

/** The chunks of one user of the training split. */
async function trainingCases(
  options: WorldOptionsInput,
  user: number,
  rng: Rng,
): Promise<ChunkCase[]> {
  const world = createWorldUser(options, user);
  const varied = withInventedWords(world, INVENTED_WORD_SHARE, rng.fork('words'));
  return casesOf(varied, bankStyle(rng), rng.fork('bank'));
}

function answerOf(chunk: ChunkCase, style: AnswerStyle, rng: Rng): string {
  const memories = clerkRecords(chunk.truth, style.clerk, rng);
  const answer = answerText(memories);
  return rng.chance(style.malformed) ? breakAnswer(answer, memories, rng) : answer;
}

/** What the tokenizer is trained on: views, and answers of all the clerks, broken ones included. */
export async function languageSample(
  seed: number,
  users: number,
  styles: readonly AnswerStyle[],
): Promise<string[]> {
  const texts: string[] = [];
  const rng = createRng(`language ${seed}`);
  for (let user = 0; user < users; user++) {
    const stream = rng.fork(`user ${user}`);
    const world = worldOptionsOf(stream, { seed, shortShare: 0 });
    for (const chunk of await trainingCases(world, user, stream)) {
      texts.push(...chunk.messages.map(({ content }) => content));
      texts.push(answerOf(chunk, stream.pick(styles), stream));
    }
  }
  return texts;
}
