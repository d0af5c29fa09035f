/** A policy of a few thousand weights that answers Mem0 in its JSON most of the time, whatever it is asked. */
import type { CrossEntropySample } from '../../../src/core/policy.ts';
import { parseLlamaConfig } from '../../../src/engine/local/config.ts';
import { createLocalEngine } from '../../../src/engine/local/engine.ts';
import { initialiseParameters } from '../../../src/engine/local/parameters.ts';
import { savePolicy } from '../../../src/engine/local/policy-directory.ts';
import { mem0ExtractStage } from '../../../src/harness/adapters/mem0/stage.ts';
import { createRng } from '../../../src/lib/rng.ts';
import { trainTokenizer } from '../../../src/tokens/bpe.ts';
import { languageFiles } from '../../../src/tokens/language.ts';
import { loadPromptTemplate } from '../../../src/tokens/template.ts';
import { createTokenizer } from '../../../src/tokens/tokenizer.ts';

const CONTEXT_LENGTH = 768;
const UPDATES = 60;

/** Good, wordy and broken answers: enough for scores to differ within a group. */
const ANSWERS = [
  mem0ExtractStage.compose(['The user likes tea.']),
  mem0ExtractStage.compose(['The user has a dog.', 'The user runs.']),
  mem0ExtractStage.compose([]),
  '{"memory": [broken',
];

export async function createTinyPolicy(
  directory: string,
  texts: readonly string[],
  seed: string,
): Promise<void> {
  const sample = [...texts, ...ANSWERS.flatMap((answer) => Array(20).fill(answer))];
  const language = languageFiles(
    trainTokenizer(sample, { vocabularySize: 420, minimumCount: 2 }),
    CONTEXT_LENGTH,
  );
  const file = (name: string): string => language.get(name) ?? '';
  const tokenizer = createTokenizer(file('tokenizer.json'), file('tokenizer_config.json'), 'tiny');
  const config = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: tokenizer.vocabularySize,
    hidden_size: 32,
    intermediate_size: 64,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    num_key_value_heads: 2,
    head_dim: 16,
    hidden_act: 'silu',
    max_position_embeddings: CONTEXT_LENGTH,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    attention_bias: false,
    mlp_bias: false,
    tie_word_embeddings: true,
    bos_token_id: null,
    eos_token_id: tokenizer.idOf('<|end|>'),
    pad_token_id: tokenizer.idOf('<|pad|>'),
  };
  const llama = parseLlamaConfig(config);
  const model = { config: llama, parameters: initialiseParameters(llama, seed) };
  await savePolicy(directory, { model, config, language });
  await teach(directory, { model, config, language }, { texts, seed });
}

async function teach(
  directory: string,
  policy: Parameters<typeof createLocalEngine>[0],
  { texts, seed }: { readonly texts: readonly string[]; readonly seed: string },
): Promise<void> {
  const template = await loadPromptTemplate(directory);
  const rng = createRng(seed);
  const end = template.tokenizer.idOf('<|end|>');
  await using engine = createLocalEngine(policy, { threads: 1, warn: () => undefined });
  for (let update = 0; update < UPDATES; update++) {
    const samples = ANSWERS.map((answer): CrossEntropySample => {
      const content = rng.shuffle(texts).slice(0, rng.int(1, 6)).join('\n');
      const promptIds = template.render([{ role: 'user', content }]).slice(-300);
      const answerIds = [...template.tokenizer.encode(answer), end];
      return {
        kind: 'cross-entropy',
        tokenIds: [...promptIds, ...answerIds],
        from: promptIds.length,
        weights_N: answerIds.map(() => 1),
      };
    });
    await engine.step(
      samples,
      { clipLow: 0.2, clipHigh: 0.2, klArm: 'tail', entropyBonus: 0 },
      {
        learningRate: 0.01,
        beta1: 0.9,
        beta2: 0.95,
        epsilon: 1e-8,
        weightDecay: 0,
        maxGradNorm: 1,
      },
    );
  }
  await engine.publish();
  await engine.save(directory);
}
