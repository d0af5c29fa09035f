/**
 * Makes the two start weights that ship with the package, from nothing but a seed.
 *
 *   npx tsx recipes/pretrain-local.ts --out runs/pretrain --seed 1
 *
 * A trunk learns the language and to copy from a careful clerk: in a first cycle under one task (under fifteen at once
 * copying words did not come in 27 M tokens), in a second one under all. `teacher` and `base` are short fine-tunings of
 * it on clerks with flaws. Interrupted, the same command goes on from the last checkpoint.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { EXIT } from '../src/cli/exit-codes.ts';
import { catchInterrupt, InterruptedError } from '../src/cli/interrupt.ts';
import { parseLlamaConfig } from '../src/engine/local/config.ts';
import { createLocalEngine } from '../src/engine/local/engine.ts';
import { initialiseParameters } from '../src/engine/local/parameters.ts';
import { loadPolicy, savePolicy } from '../src/engine/local/policy-directory.ts';
import { trainTokenizer } from '../src/tokens/bpe.ts';
import { languageFiles } from '../src/tokens/language.ts';
import { loadPromptTemplate } from '../src/tokens/template.ts';
import { createTokenizer } from '../src/tokens/tokenizer.ts';
import { type Evaluation, evaluate, renderEvaluation } from './pretrain/evaluate.ts';
import { languageSample } from './pretrain/examples.ts';
import { runStage, type StagePlan } from './pretrain/learn.ts';
import { CONTEXT_LENGTH, llamaConfigJson } from './pretrain/shape.ts';
import { type AnswerStyle, BASE, TEACHER, TRUNK, WIDE } from './pretrain/styles.ts';

const LANGUAGE_USERS = 300;
const VOCABULARY_SIZE = 1088;
const MINIMUM_PAIR_COUNT = 10;
const SHORT_UNTIL = 0.4;

/** Copying is measured on Mem0's request, protocol and decisions on fewer users under every task. */
const EXAMINATIONS = [
  { name: 'Mem0', tasks: ['mem0.extract'], share: 1, temperature: 0, heldOutForms: false },
  { name: 'Mem0', tasks: ['mem0.extract'], share: 1, temperature: 1, heldOutForms: false },
  { name: 'Mem0', tasks: ['mem0.extract'], share: 1, temperature: 0, heldOutForms: true },
  { name: 'every task', share: 0.2, temperature: 0, heldOutForms: false },
  { name: 'every task', share: 0.2, temperature: 1, heldOutForms: false },
] as const;

interface Stage {
  readonly plan: StagePlan;
  readonly style: AnswerStyle;
  readonly oneTask?: boolean;
  readonly aside?: { readonly style: AnswerStyle; readonly share: number };
  readonly from: string;
  /** Offset of the world seed: every stage sees users of its own. */
  readonly world: number;
}

const { values: flags } = parseArgs({
  options: {
    out: { type: 'string' },
    seed: { type: 'string', default: '1' },
    threads: { type: 'string', default: '2' },
    'trunk-tokens': { type: 'string', default: '8000000' },
    'polish-tokens': { type: 'string', default: '13000000' },
    'tuning-tokens': { type: 'string', default: '1500000' },
    'eval-users': { type: 'string', default: '20' },
  },
});

if (flags.out === undefined) {
  console.error('say where to work: npx tsx recipes/pretrain-local.ts --out DIR [--seed 1]');
  process.exit(EXIT.badInput);
}
const out = flags.out;
const seed = number('seed', flags.seed);
const threads = number('threads', flags.threads);
const evalUsers = number('eval-users', flags['eval-users']);

const trunk: Stage = {
  plan: {
    name: 'trunk',
    tokens: number('trunk-tokens', flags['trunk-tokens']),
    learningRate: 3e-3,
    warmupUpdates: 200,
    finalRateShare: 0.05,
    batchTokens: 2048,
    promptWeight: 0.1,
    shortShare: (progress) => (progress < SHORT_UNTIL ? 1 : 0.2),
  },
  style: TRUNK,
  oneTask: true,
  from: join(out, 'start'),
  world: 0,
};
/** A second cycle over every task, on answers alone: what prompts say next is noise, however well it is learnt. */
const polish: Stage = {
  plan: {
    ...trunk.plan,
    name: 'polish',
    tokens: number('polish-tokens', flags['polish-tokens']),
    learningRate: 2e-3,
    warmupUpdates: 100,
    finalRateShare: 0.02,
    promptWeight: 0,
    shortShare: () => 0.2,
  },
  style: TRUNK,
  aside: { style: WIDE, share: 0.15 },
  from: join(out, 'trunk', 'checkpoint'),
  world: 3,
};
const teacher = tuned('teacher', {
  style: TEACHER,
  from: join(out, 'polish', 'checkpoint'),
  world: 1,
});
/** Starts from the teacher, who already has the words for what a careless clerk writes. */
const base = tuned('base', {
  style: BASE,
  from: join(out, 'teacher', 'checkpoint'),
  world: 2,
});

const startedAt = performance.now();
using interrupt = catchInterrupt('run the same command again to go on');
try {
  await makeStart();
  for (const stage of [trunk, polish, teacher, base]) {
    const checkpoint = await train(stage);
    await examine(stage.plan.name, checkpoint);
    const { model, ...rest } = await loadPolicy(checkpoint);
    const { config, parameters } = model;
    const language = rest.language;
    const shipped = { model: { config, parameters }, config: rest.config, language };
    await savePolicy(join(out, 'models', stage.plan.name), shipped, 'F16');
  }
  log(`done; half-precision policies are in ${join(out, 'models')}`);
} catch (error) {
  if (!(error instanceof InterruptedError)) throw error;
  process.exitCode = EXIT.interrupted;
}

function tuned(name: string, from: Pick<Stage, 'style' | 'from' | 'world'>): Stage {
  const tokens = number('tuning-tokens', flags['tuning-tokens']);
  return {
    plan: { ...polish.plan, name, tokens, learningRate: 1e-3, shortShare: () => 0.1 },
    ...from,
  };
}

/** Tokenizer and random weights, made once. */
async function makeStart(): Promise<void> {
  const directory = join(out, 'start');
  if (existsSync(directory)) return;
  log('training the tokenizer');
  const sample = await languageSample(seed, LANGUAGE_USERS, [TRUNK, TEACHER, BASE]);
  const options = { vocabularySize: VOCABULARY_SIZE, minimumCount: MINIMUM_PAIR_COUNT };
  const language = languageFiles(trainTokenizer(sample, options), CONTEXT_LENGTH);
  const file = (name: string): string => language.get(name) ?? '';
  const tokenizer = createTokenizer(file('tokenizer.json'), file('tokenizer_config.json'), out);
  const ids = { endId: tokenizer.idOf('<|end|>'), padId: tokenizer.idOf('<|pad|>') };
  const config = llamaConfigJson(tokenizer.vocabularySize, ids);
  const llama = parseLlamaConfig(config);
  const model = { config: llama, parameters: initialiseParameters(llama, `start ${seed}`) };
  await savePolicy(directory, { model, config, language });
  log(`${model.parameters.flat.length} parameters, vocabulary ${tokenizer.vocabularySize}`);
}

async function train({ plan, style, oneTask, aside, from, world }: Stage): Promise<string> {
  const template = await loadPromptTemplate(from);
  const examples = {
    template,
    style,
    ...(oneTask && { oneTask }),
    ...(aside && { aside }),
    seed: 10 * seed + world,
    contextLength: CONTEXT_LENGTH,
  };
  const directory = join(out, plan.name);
  return runStage(plan, { examples, from, directory, threads, signal: interrupt.signal, log });
}

/** Once a stage: its figures stay in its directory. */
async function examine(name: string, checkpoint: string): Promise<void> {
  const file = join(out, name, 'evaluation.json');
  if (existsSync(file)) return;
  const template = await loadPromptTemplate(checkpoint);
  await using engine = createLocalEngine(await loadPolicy(checkpoint), { threads, warn: log });
  const evaluations: Record<string, Evaluation> = {};
  for (const { name: what, share, ...how } of EXAMINATIONS) {
    if (name === trunk.plan.name && what !== 'Mem0') continue;
    interrupt.signal.throwIfAborted();
    const users = Math.ceil(evalUsers * share);
    const evaluation = await evaluate({ engine, template, users, seed: 1000 + seed, ...how });
    const title = `${name}, ${what}, temperature ${how.temperature}${how.heldOutForms ? ', held-out forms' : ''}`;
    evaluations[title] = evaluation;
    log(renderEvaluation(title, evaluation));
  }
  await writeFile(file, `${JSON.stringify(evaluations, null, 2)}\n`);
}

function number(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < 0) {
    console.error(`--${flag} wants a whole number, not ${JSON.stringify(text)}`);
    process.exit(EXIT.badInput);
  }
  return value;
}

function log(line: string): void {
  console.log(`[${((performance.now() - startedAt) / 1000).toFixed(0).padStart(5)} s] ${line}`);
}
