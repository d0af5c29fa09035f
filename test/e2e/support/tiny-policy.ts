/** A policy directory with random weights: it speaks our tokens and says nothing sensible, quickly. */
import { parseLlamaConfig, toLlamaConfigJson } from '../../../src/engine/local/config.ts';
import { initialiseParameters } from '../../../src/engine/local/parameters.ts';
import { savePolicy } from '../../../src/engine/local/policy-directory.ts';
import { trainTokenizer } from '../../../src/tokens/bpe.ts';
import { languageFiles } from '../../../src/tokens/language.ts';
import { createTokenizer } from '../../../src/tokens/tokenizer.ts';
import { createWorld } from '../../../src/world/world.ts';

const CONTEXT_LENGTH = 512;

export async function createTinyPolicy(directory: string, seed = '1'): Promise<void> {
  const sample = createWorld({ users: 4 }).flatMap(({ sessions }) =>
    sessions.flatMap(({ messages }) => messages.map(({ text }) => text)),
  );
  const tokenizerJson = trainTokenizer(sample, { vocabularySize: 384, minimumCount: 2 });
  const language = languageFiles(tokenizerJson, CONTEXT_LENGTH);
  const { vocabularySize } = createTokenizer(
    language.get('tokenizer.json') ?? '',
    language.get('tokenizer_config.json') ?? '',
    directory,
  );
  const config = parseLlamaConfig({
    model_type: 'llama',
    vocab_size: vocabularySize,
    hidden_size: 32,
    intermediate_size: 64,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    max_position_embeddings: CONTEXT_LENGTH,
    rms_norm_eps: 1e-5,
    tie_word_embeddings: true,
  });
  const model = { config, parameters: initialiseParameters(config, `tiny ${seed}`) };
  await savePolicy(directory, { model, config: toLlamaConfigJson(config), language });
}
