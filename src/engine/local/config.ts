/** A Hugging Face Llama `config.json`: what of it we implement, and a refusal by name of what we do not. */
import { z } from 'zod';
import { UserError } from '../../lib/user-error.ts';

const llamaConfigSchema = z.looseObject({
  model_type: z.literal('llama'),
  hidden_size: z.int().positive(),
  intermediate_size: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_key_value_heads: z.int().positive().optional(),
  head_dim: z.int().positive().nullish(),
  vocab_size: z.int().positive(),
  max_position_embeddings: z.int().positive(),
  rms_norm_eps: z.number().positive(),
  rope_theta: z.number().positive().default(10_000),
  rope_parameters: z.looseObject({ rope_theta: z.number().positive() }).nullish(),
  tie_word_embeddings: z.boolean().default(false),
});

/** The architecture in our own names. */
export interface LlamaConfig {
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  /** Divides `heads`; each key-value head serves heads / keyValueHeads query heads. */
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly vocabularySize: number;
  readonly contextLength: number;
  readonly rmsNormEpsilon: number;
  readonly ropeTheta: number;
  readonly tiedEmbeddings: boolean;
}

/** Fields that would change the computation, with the only values under which ours is right. */
const ONLY: Readonly<Record<string, readonly unknown[]>> = {
  hidden_act: ['silu', 'swish'],
  attention_bias: [false],
  mlp_bias: [false],
  rope_scaling: [null],
  attention_dropout: [0],
  pretraining_tp: [1],
  partial_rotary_factor: [1],
  quantization_config: [],
};

/** Throws an error that names the field which is malformed or not implemented. */
export function parseLlamaConfig(json: unknown, where = 'config.json'): LlamaConfig {
  const parsed = llamaConfigSchema.safeParse(json);
  if (!parsed.success) throw new UserError(`${where}: ${describe(parsed.error)}`);
  const config = parsed.data;
  for (const [field, allowed] of Object.entries(ONLY)) {
    const value = config[field];
    if (value !== undefined && !allowed.includes(value)) refuse(`${where}: ${field}`, value);
  }
  const ropeType = config.rope_parameters?.['rope_type'];
  if (ropeType !== undefined && ropeType !== 'default')
    refuse(`${where}: rope_parameters.rope_type`, ropeType);
  return checked(where, {
    hiddenSize: config.hidden_size,
    intermediateSize: config.intermediate_size,
    layers: config.num_hidden_layers,
    heads: config.num_attention_heads,
    keyValueHeads: config.num_key_value_heads ?? config.num_attention_heads,
    headDim: config.head_dim ?? config.hidden_size / config.num_attention_heads,
    vocabularySize: config.vocab_size,
    contextLength: config.max_position_embeddings,
    rmsNormEpsilon: config.rms_norm_eps,
    ropeTheta: config.rope_parameters?.rope_theta ?? config.rope_theta,
    tiedEmbeddings: config.tie_word_embeddings,
  });
}

/** The `config.json` that transformers, vLLM and llama.cpp read. */
export function toLlamaConfigJson(config: LlamaConfig): Record<string, unknown> {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_act: 'silu',
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headDim,
    vocab_size: config.vocabularySize,
    max_position_embeddings: config.contextLength,
    rms_norm_eps: config.rmsNormEpsilon,
    rope_theta: config.ropeTheta,
    tie_word_embeddings: config.tiedEmbeddings,
    attention_bias: false,
    mlp_bias: false,
    torch_dtype: 'float32',
  };
}

/** Throws where the sizes contradict each other. */
function checked(where: string, config: LlamaConfig): LlamaConfig {
  if (config.heads % config.keyValueHeads !== 0) {
    throw new UserError(
      `${where}: num_attention_heads ${config.heads} is not a multiple of num_key_value_heads ${config.keyValueHeads}`,
    );
  }
  // The native attention operation asks for it.
  if (!Number.isInteger(config.headDim / 16)) {
    throw new UserError(`${where}: head_dim ${config.headDim} is not a multiple of 16`);
  }
  return config;
}

function refuse(field: string, value: unknown): never {
  throw new UserError(`${field} = ${JSON.stringify(value)} is not implemented`);
}

function describe({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}
