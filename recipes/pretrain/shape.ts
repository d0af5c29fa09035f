/** The shape of the shipped policies: about a million parameters of the Llama kind. */

/** EverOS's dated lines are the longest requests. */
export const CONTEXT_LENGTH = 1024;
const HIDDEN = 128;
const HEADS = 4;
const KEY_VALUE_HEADS = 2;

/** `config.json` as transformers reads it. */
export function llamaConfigJson(
  vocabularySize: number,
  special: { readonly endId: number; readonly padId: number },
): Record<string, unknown> {
  return {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: vocabularySize,
    hidden_size: HIDDEN,
    intermediate_size: 352,
    num_hidden_layers: 4,
    num_attention_heads: HEADS,
    num_key_value_heads: KEY_VALUE_HEADS,
    head_dim: HIDDEN / HEADS,
    hidden_act: 'silu',
    max_position_embeddings: CONTEXT_LENGTH,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    attention_bias: false,
    mlp_bias: false,
    tie_word_embeddings: true,
    bos_token_id: null,
    eos_token_id: special.endId,
    pad_token_id: special.padId,
  };
}
