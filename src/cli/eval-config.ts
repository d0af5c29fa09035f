/** What `memwriter eval` is asked to do: its configuration, and the flags that stand for parts of it. */
import { z } from 'zod';
import { priceSchema } from '../llm/cost.ts';
import { rewardOptionsSchema } from '../reward/options.ts';
import {
  configurationSchema,
  type DataOptions,
  dataConfigSchema,
  endpointConfigSchema,
  samplingConfigSchema,
  stackConfigSchema,
} from './config.ts';
import { loadConfig, parseInput } from './config-file.ts';
import { allPairs, differenceKey } from './evaluation.ts';
import { BadInputError } from './exit-codes.ts';
import { endpointOf } from './stack.ts';
import { assertPolicyDirectory } from './writers.ts';

export const evalConfigSchema = z.strictObject({
  seed: z.string().min(1).default('1'),
  data: dataConfigSchema,
  stack: stackConfigSchema.default(stackConfigSchema.parse({})),
  sampling: samplingConfigSchema.default(samplingConfigSchema.parse({})),
  /** What the chunk score is made of (definitions §5). */
  reward: rewardOptionsSchema.default(rewardOptionsSchema.parse({})),
  /** Beside the framework's own retrieval, sit the exam over our own ranking of the listed memories. */
  ownRanking: z.boolean().default(true),
  /** Policy directories by name. */
  writers: z.record(z.string(), z.string()).default({}),
  /** OpenAI-compatible writers by name. */
  endpoints: z.record(z.string(), endpointConfigSchema).default({}),
  /** What the endpoints' models cost, by model name. */
  prices: z.record(z.string(), priceSchema).default({}),
  controls: z.array(z.enum(['empty', 'verbatim'])).default(['empty', 'verbatim']),
});
export type EvalConfig = z.infer<typeof evalConfigSchema>;

export const EVAL_DEFAULTS = {
  data: { kind: 'world', preset: 'demo', world: { split: 'eval', users: 24 } },
} as const;

export interface EvalFlags {
  readonly config?: string;
  readonly set?: readonly string[];
  readonly harness?: string;
  readonly writer?: readonly string[];
  readonly writerUrl?: string;
  readonly writerModel?: string;
  readonly writerKeyEnv?: string;
  readonly locomo?: string;
  readonly conversation?: readonly string[];
  readonly json?: boolean;
}

export function evalConfigOf(flags: EvalFlags): EvalConfig {
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
    data: dataFlag(flags, config.data) ?? config.data,
    stack: { ...config.stack, harness: { ...config.stack.harness, ...harnessFlag(flags) } },
  };
  checkWriters(merged);
  return merged;
}

function harnessFlag({ harness }: EvalFlags): Partial<EvalConfig['stack']['harness']> {
  if (harness === undefined) return {};
  return { configuration: parseInput(configurationSchema, harness, { where: '--harness' }) };
}

/** Before any work: a writer that is missing at the end would cost the whole evaluation. */
function checkWriters({ writers, endpoints, controls }: EvalConfig): void {
  const names = [...Object.keys(writers), ...Object.keys(endpoints), ...controls];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new BadInputError(`two writers are called ${twice}: rename one`);
  if (names.length === 0) throw new BadInputError('there is no writer to evaluate: give --writer');
  const keys = allPairs(names).map(differenceKey);
  const ambiguous = keys.find((key, index) => keys.indexOf(key) !== index);
  if (ambiguous !== undefined) {
    throw new BadInputError(`two differences would be called ${ambiguous}: rename a writer`);
  }
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

function dataFlag(
  { locomo, conversation }: EvalFlags,
  { chunking, select }: DataOptions,
): DataOptions | undefined {
  if (locomo === undefined) {
    if (conversation === undefined) return undefined;
    throw new BadInputError('--conversation chooses from a LoCoMo file: give --locomo too');
  }
  return {
    kind: 'locomo',
    file: locomo,
    chunking,
    select,
    ...(conversation !== undefined && { conversations: conversation.map(indexOf) }),
  };
}

function indexOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new BadInputError(`--conversation takes whole numbers from 0, not ${JSON.stringify(text)}`);
}
