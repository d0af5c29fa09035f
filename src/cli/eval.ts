/** `memwriter eval`: any writers on the same exam, with the two controls beside them. */
import type { Command } from 'commander';
import { z } from 'zod';
import type { EvaluatedWindow } from '../bench/evaluate.ts';
import {
  type DataConfig,
  dataConfigSchema,
  endpointConfigSchema,
  samplingConfigSchema,
  stackConfigSchema,
} from './config.ts';
import { loadConfig, parseInput } from './config-file.ts';
import { compare, evaluateNamed } from './evaluation.ts';
import { loadUserExams } from './exam-source.ts';
import { BadInputError } from './exit-codes.ts';
import { catchInterrupt } from './interrupt.ts';
import { endpointOf, openStack } from './stack.ts';
import { differencesTable, writersTable } from './tables.ts';
import {
  assertPolicyDirectory,
  type NamedWriter,
  openControl,
  openEndpointWriter,
  openLocalWriter,
} from './writers.ts';

export const evalConfigSchema = z.strictObject({
  seed: z.string().min(1).default('1'),
  data: dataConfigSchema,
  stack: stackConfigSchema.default(stackConfigSchema.parse({})),
  sampling: samplingConfigSchema.default(samplingConfigSchema.parse({})),
  /** Policy directories by name. */
  writers: z.record(z.string(), z.string()).default({}),
  /** OpenAI-compatible writers by name. */
  endpoints: z.record(z.string(), endpointConfigSchema).default({}),
  controls: z.array(z.enum(['empty', 'verbatim'])).default(['empty', 'verbatim']),
});
type EvalConfig = z.infer<typeof evalConfigSchema>;

export const EVAL_DEFAULTS = {
  data: { kind: 'world', preset: 'demo', world: { split: 'eval', users: 24 } },
} as const;

interface EvalFlags {
  readonly config?: string;
  readonly set?: readonly string[];
  readonly writer?: readonly string[];
  readonly writerUrl?: string;
  readonly writerModel?: string;
  readonly writerKeyEnv?: string;
  readonly locomo?: string;
  readonly conversation?: readonly string[];
  readonly json?: boolean;
}

export function registerEval(program: Command): void {
  program
    .command('eval')
    .description('evaluate writers inside the real framework, with empty and verbatim controls')
    .option('-c, --config <file>', 'configuration file (JSON)')
    .option('--set <key=value...>', 'override one configuration key, e.g. --set data.world.users=8')
    .option(
      '-w, --writer <name=dir...>',
      'a local policy: a Hugging Face directory of a Llama model',
    )
    .option(
      '--writer-url <url>',
      'a writer at an OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1',
    )
    .option('--writer-model <model>', 'model name at that endpoint')
    .option('--writer-key-env <name>', 'environment variable with its key (OPENAI_API_KEY)')
    .option('--locomo <file>', 'examine on LoCoMo instead of the synthetic world')
    .option('--conversation <index...>', 'only these LoCoMo conversations, from 0')
    .option('--json', 'print one JSON object on standard output')
    .addHelpText(
      'after',
      `
Examples:
  memwriter eval --writer base=models/base --writer teacher=models/teacher
  memwriter eval --writer-url http://127.0.0.1:8000/v1 --writer-model my-writer --locomo locomo10.json --conversation 0
  memwriter eval --set stack.judge='{"kind":"llm","baseUrl":"https://api.example.com/v1","model":"judge"}'`,
    )
    .action(runEval);
}

async function runEval(flags: EvalFlags): Promise<void> {
  const config = configOf(flags);
  using interrupt = catchInterrupt('an evaluation starts anew: run the same command again');
  await using stack = await openStack(config.stack, interrupt.signal);
  const users = await loadUserExams(config.data, stack.countTokens);
  const evaluations = new Map<string, EvaluatedWindow[]>();
  const startedAt = performance.now();
  for (const open of writersOf(config)) {
    await using writer = await open();
    evaluations.set(
      writer.name,
      await evaluateNamed(stack, writer, {
        users,
        seed: config.seed,
        quiet: false,
        signal: interrupt.signal,
      }),
    );
  }
  const names = [...evaluations.keys()];
  const pairs = names.flatMap((a, i) => names.slice(i + 1).map((b) => [a, b] as const));
  const comparison = compare(evaluations, pairs, config.seed);
  const wallS = (performance.now() - startedAt) / 1000;
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify({ seed: config.seed, wallS, ...comparison })}\n`);
    return;
  }
  process.stdout.write(
    `${writersTable(comparison.writers)}\n${differencesTable(comparison.differences)}\n`,
  );
  process.stdout.write(
    `${users.length} users, ${comparison.faults} faults, ${wallS.toFixed(0)} s; same questions, same reader and judge\n`,
  );
}

function* writersOf(config: EvalConfig): Generator<() => Promise<NamedWriter>> {
  for (const [name, directory] of Object.entries(config.writers)) {
    yield () => openLocalWriter({ name, directory }, config.sampling, config.stack);
  }
  for (const [name, endpoint] of Object.entries(config.endpoints)) {
    yield async () => openEndpointWriter(name, endpoint);
  }
  for (const control of config.controls) yield async () => openControl(control);
}

function configOf(flags: EvalFlags): EvalConfig {
  const config = loadConfig(evalConfigSchema, {
    file: flags.config,
    set: flags.set,
    defaults: EVAL_DEFAULTS,
    help: 'memwriter config eval',
  });
  const merged = {
    ...config,
    writers: { ...config.writers, ...writersFlag(flags) },
    endpoints: { ...config.endpoints, ...endpointFlag(flags) },
    data: dataFlag(flags) ?? config.data,
  };
  checkWriters(merged);
  return merged;
}

/** Before any work: a writer that is missing at the end would cost the whole evaluation. */
function checkWriters({ writers, endpoints, controls }: EvalConfig): void {
  const names = [...Object.keys(writers), ...Object.keys(endpoints), ...controls];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new BadInputError(`two writers are called ${twice}: rename one`);
  if (names.length === 0) throw new BadInputError('there is no writer to evaluate: give --writer');
  for (const directory of Object.values(writers)) assertPolicyDirectory(directory);
  for (const endpoint of Object.values(endpoints)) endpointOf(endpoint);
}

function writersFlag({ writer }: EvalFlags): EvalConfig['writers'] {
  const writers = new Map<string, string>();
  for (const [name, directory] of (writer ?? []).map(nameAndDirectory)) {
    if (writers.has(name)) throw new BadInputError(`two writers are called ${name}: rename one`);
    writers.set(name, directory);
  }
  return Object.fromEntries(writers);
}

function nameAndDirectory(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new BadInputError(`--writer takes name=directory, not ${JSON.stringify(text)}`);
}

function endpointFlag({
  writerUrl,
  writerModel,
  writerKeyEnv,
}: EvalFlags): EvalConfig['endpoints'] {
  if (writerUrl === undefined) return {};
  if (writerModel === undefined) {
    throw new BadInputError('--writer-url needs --writer-model: the model name to ask for');
  }
  const parsed = parseInput(
    endpointConfigSchema,
    {
      baseUrl: writerUrl,
      model: writerModel,
      ...(writerKeyEnv !== undefined && { apiKeyEnv: writerKeyEnv }),
    },
    { where: '--writer-url' },
  );
  return { [writerModel]: parsed };
}

function dataFlag({ locomo, conversation }: EvalFlags): DataConfig | undefined {
  if (locomo === undefined) {
    if (conversation === undefined) return undefined;
    throw new BadInputError('--conversation chooses from a LoCoMo file: give --locomo too');
  }
  return {
    kind: 'locomo',
    file: locomo,
    ...(conversation !== undefined && { conversations: conversation.map(indexOf) }),
  };
}

function indexOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new BadInputError(`--conversation takes whole numbers from 0, not ${JSON.stringify(text)}`);
}
