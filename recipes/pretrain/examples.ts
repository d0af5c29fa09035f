/** From a seed to training examples: world, bank, some framework's view, a clerk's answer, token ids. */
import { createRng, type Rng } from '../../src/lib/rng.ts';
import type { PromptTemplate } from '../../src/tokens/contract.ts';
import { type WorldOptionsInput, worldPresets } from '../../src/world/options.ts';
import { createWorldUser } from '../../src/world/world.ts';
import type { EncodedExample } from './batches.ts';
import { breakAnswer } from './breakages.ts';
import { bankOf, casesOf, type TaskCase } from './cases.ts';
import { type AnswerStyle, bankStyle } from './styles.ts';
import { mem0Extract } from './tasks/mem0.ts';
import { type AnyExtraction, type AnyMerge, EXTRACTIONS, MERGES, weightOf } from './tasks/tasks.ts';
import { withInventedWords } from './unseen-words.ts';

/** About this many tokens a pool, so that a pool's number says how far training is. */
export const POOL_TOKENS = 100_000;
const USERS_PER_POOL = 10_000;
const INVENTED_WORD_SHARE = 0.85;
const PRESETS = ['easy', 'demo', 'demo', 'hard'] as const;
const SCENES = ['chat', 'chat', 'working', 'coding'] as const;
/** Of the chunks: how many are shown as a request that merges too. */
const MERGE_SHARE = 0.35;
const STRANGERS_SHARE = 0.4;
const MOST_STRANGERS = 4;
/** Said after a task's token, so that words of other clerks are learnt without becoming the answer. */
const ASIDE = '<|reserved.0|>';

export interface ExampleOptions {
  readonly template: PromptTemplate;
  readonly style: AnswerStyle;
  /** A second style under a marker of its own, for a share of the examples. */
  readonly aside?: { readonly style: AnswerStyle; readonly share: number };
  /** World seed: stages with different seeds see different users. */
  readonly seed: number;
  readonly contextLength: number;
  /** Share of users with few, short sessions: cheap to learn copying from. */
  readonly shortShare: number;
  /** Mem0's request about chats alone: copying is learnt from one form first. All tasks where absent. */
  readonly oneTask?: boolean;
}

/** The examples of one pool. Those longer than the context are left out. */
export async function examplesOf(pool: number, options: ExampleOptions): Promise<EncodedExample[]> {
  const { seed, contextLength, oneTask = false } = options;
  const rng = createRng(`pretrain ${seed} ${pool}`);
  const examples: EncodedExample[] = [];
  let tokens = 0;
  for (let i = 0; tokens < POOL_TOKENS; i++) {
    const stream = rng.fork(`user ${i}`);
    const world = worldOptionsOf(stream, options);
    const user = pool * USERS_PER_POOL + i;
    for (const chunk of await trainingCases(world, user, { rng: stream, oneTask })) {
      const example = encode(chunk, options, stream);
      const length = example.promptIds.length + example.answerIds.length;
      if (length > contextLength) continue;
      examples.push(example);
      tokens += length;
    }
  }
  return examples;
}

function encode(chunk: TaskCase, options: ExampleOptions, rng: Rng): EncodedExample {
  const { template, style, aside } = options;
  const isAside = aside !== undefined && chunk.extraction !== undefined && rng.chance(aside.share);
  const messages = isAside ? marked(chunk.messages) : chunk.messages;
  const answer = answerOf(chunk, isAside ? aside.style : style, rng);
  return {
    promptIds: template.render(messages),
    answerIds: template.tokenizer.encode(`${answer}<|end|>`),
  };
}

function marked(messages: TaskCase['messages']): TaskCase['messages'] {
  return messages.map(({ role, content }, i) => ({
    role,
    content: i === 0 ? `${content}${ASIDE}` : content,
  }));
}

function worldOptionsOf(
  rng: Rng,
  { seed, shortShare, oneTask }: Pick<ExampleOptions, 'seed' | 'shortShare' | 'oneTask'>,
): WorldOptionsInput {
  const preset = worldPresets[rng.pick(PRESETS)];
  const scene = oneTask === true ? ('chat' as const) : rng.pick(SCENES);
  const shared = { ...preset, seed, split: 'train' as const, scene };
  if (!rng.chance(shortShare)) return { ...shared, sessionsPerUser: rng.int(2, 7) };
  const turnsPerSession = rng.int(2, 4);
  const factsPerChunk = { min: 1, max: rng.int(1, turnsPerSession - 1) };
  return { ...shared, turnsPerSession, factsPerChunk, sessionsPerUser: rng.int(1, 2) };
}

/** The chunks of one user of the training split, each as one request, some as a merge beside it. */
async function trainingCases(
  options: WorldOptionsInput,
  user: number,
  { rng, oneTask }: { readonly rng: Rng; readonly oneTask: boolean },
): Promise<TaskCase[]> {
  const world = createWorldUser(options, user);
  const varied = withInventedWords(world, INVENTED_WORD_SHARE, rng.fork('words'));
  const others = rng.chance(STRANGERS_SHARE)
    ? bankOf(
        createWorldUser(options, user + USERS_PER_POOL / 2),
        bankStyle(rng),
        rng.fork('others'),
      )
    : [];
  const choice = rng.fork('choice');
  return casesOf(varied, {
    choose: ({ scene }) =>
      oneTask
        ? { extractions: [mem0Extract], merges: [] }
        : {
            extractions: [pickFor(EXTRACTIONS, scene, choice)],
            merges: choice.chance(MERGE_SHARE) ? [pickFor(MERGES, scene, choice)] : [],
          },
    bank: bankStyle(rng),
    strangers: rng.shuffle(others).slice(0, MOST_STRANGERS),
    rng: rng.fork('bank'),
  });
}

function pickFor<T extends AnyExtraction | AnyMerge>(
  tasks: readonly T[],
  scene: string,
  rng: Rng,
): T {
  const fitting = tasks.filter(({ scenes }) => scenes.some((one) => one === scene));
  const total = fitting.reduce((sum, task) => sum + weightOf(task), 0);
  let point = rng.next() * total;
  const found = fitting.find((task) => {
    point -= weightOf(task);
    return point < 0;
  });
  return found ?? (fitting.at(-1) as T);
}

function answerOf(chunk: TaskCase, style: AnswerStyle, rng: Rng): string {
  const answer = chunk.answer(style.clerk, rng);
  return rng.chance(style.malformed) ? breakAnswer(answer, chunk, rng) : answer;
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
    for (const chunk of await trainingCases(world, user, { rng: stream, oneTask: false })) {
      texts.push(...chunk.messages.map(({ content }) => content));
      texts.push(answerOf(chunk, stream.pick(styles), stream));
    }
  }
  return texts;
}
