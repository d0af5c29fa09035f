/** The configuration of every command, with its defaults; `memwriter config` prints it as a JSON schema. */
import { z } from 'zod';
import { SELECT_DEFAULTS } from '../artifact/select.ts';
import { creditPresets } from '../credit/options.ts';
import { CHUNK_DEFAULTS } from '../data/chunks.ts';
import { CHUNKS_PER_WINDOW } from '../data/windows.ts';
import { rewardPresets } from '../reward/options.ts';
import { opdOptionsSchema, presetSchema, rlOptionsSchema } from '../train/options.ts';
import { CONFIGURATIONS } from './harnesses.ts';

/** An OpenAI-compatible endpoint. The key itself never stands in a file: the environment holds it. */
export const endpointConfigSchema = z.strictObject({
  baseUrl: z.url(),
  model: z.string().min(1),
  /** Name of the environment variable that holds the key. */
  apiKeyEnv: z.string().min(1).default('OPENAI_API_KEY'),
  timeoutMs: z.int().positive().default(120_000),
});
export type EndpointConfig = z.infer<typeof endpointConfigSchema>;

const chunkingSchema = z.strictObject({
  turnsPerChunk: z.int().positive().default(CHUNK_DEFAULTS.turnsPerChunk),
  /** Tokens of a chunk's text above which it is split at turn boundaries. */
  maxChunkTokens: z.int().positive().default(CHUNK_DEFAULTS.maxChunkTokens),
  chunksPerWindow: z.int().positive().max(CHUNKS_PER_WINDOW).default(CHUNKS_PER_WINDOW),
});

const selectSchema = z.strictObject({
  recallPerChunk: z.int().nonnegative().default(SELECT_DEFAULTS.recallPerChunk),
  trapsPerChunk: z.int().nonnegative().default(SELECT_DEFAULTS.trapsPerChunk),
});

const dataFields = {
  /** How sessions are cut (definitions §1). */
  chunking: chunkingSchema.default(chunkingSchema.parse({})),
  /** How many of a chunk's probes are asked (definitions §2). */
  select: selectSchema.default(selectSchema.parse({})),
};

export const dataConfigSchema = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.literal('world'),
      preset: z.enum(['easy', 'demo', 'hard']).default('demo'),
      /** Fields of the world that differ from the preset. */
      world: z.record(z.string(), z.unknown()).default({}),
      ...dataFields,
    }),
    z.strictObject({
      kind: z.literal('locomo'),
      file: z.string().min(1),
      /** Indices of conversations, from 0; all by default. */
      conversations: z.array(z.int().nonnegative()).optional(),
      ...dataFields,
    }),
  ],
  { error: 'kind must be world or locomo: a JSONL file of sessions holds no questions to score' },
);
/** As it is written: whatever is left open has its default. */
export type DataConfig = z.input<typeof dataConfigSchema>;
export type DataOptions = z.output<typeof dataConfigSchema>;

const examinerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('rule') }),
  z.strictObject({
    kind: z.literal('llm'),
    ...endpointConfigSchema.shape,
    maxTokens: z.int().positive().default(512),
  }),
]);
export type ExaminerConfig = z.infer<typeof examinerSchema>;

/** What `memwriter harness list` names. */
export const configurationSchema = z.enum(CONFIGURATIONS);

export const stackConfigSchema = z.strictObject({
  harness: z
    .strictObject({
      configuration: configurationSchema.default('mem0'),
      /** Memories in a retrieved block. */
      topK: z.int().positive().default(5),
    })
    .default({ configuration: 'mem0', topK: 5 }),
  embeddings: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('hash'), dimensions: z.int().positive().default(256) }),
      z.strictObject({
        kind: z.literal('endpoint'),
        ...endpointConfigSchema.shape,
        dimensions: z.int().positive(),
      }),
    ])
    .default({ kind: 'hash', dimensions: 256 }),
  reader: examinerSchema.default({ kind: 'rule' }),
  judge: examinerSchema.default({ kind: 'rule' }),
  /** Directory of the one tokenizer that |x| is counted with; the base policy's by default. */
  tokenizer: z.string().min(1).optional(),
  /** Banks open at a time. */
  concurrency: z.int().positive().default(16),
  /** Native threads of the local engine. */
  threads: z.int().positive().default(2),
});
export type StackConfig = z.infer<typeof stackConfigSchema>;

export const samplingConfigSchema = z.strictObject({
  temperature: z.number().nonnegative().default(1),
  maxTokens: z.int().positive().default(256),
  /** Tokens of prompt and answer, in place of the policy's own `max_position_embeddings`. */
  contextLength: z.int().positive().optional(),
});
export type SamplingConfig = z.infer<typeof samplingConfigSchema>;

const trainFields = {
  /** Train users come from the train split: their values never occur in an evaluation. */
  data: dataConfigSchema,
  stack: stackConfigSchema.default(stackConfigSchema.parse({})),
  sampling: samplingConfigSchema.default(samplingConfigSchema.parse({})),
  /** Directory of the policy to start from. */
  policy: z.string().min(1).optional(),
};

export const opdConfigSchema = z.strictObject({
  ...trainFields,
  /** Directory of the frozen teacher. */
  teacher: z.string().min(1).optional(),
  train: opdOptionsSchema,
});
export type OpdConfig = z.infer<typeof opdConfigSchema>;

export const rlConfigSchema = z.strictObject({
  ...trainFields,
  train: z.preprocess(withPreset, rlOptionsSchema),
});
export type RlConfig = z.infer<typeof rlConfigSchema>;

const presetPartSchema = z.looseObject({
  preset: presetSchema.default('recommended'),
  reward: z.looseObject({}).default({}),
  credit: z.looseObject({}).default({}),
});

/** A preset's reward and credit stand wherever the input says nothing; what is not an object is left to the schema. */
function withPreset(input: unknown): unknown {
  const part = presetPartSchema.safeParse(input);
  if (!part.success) return input;
  const { preset, reward, credit } = part.data;
  return {
    ...part.data,
    reward: { ...rewardPresets[preset], ...reward },
    credit: { ...creditPresets[preset], ...credit },
  };
}
