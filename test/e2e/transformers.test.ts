/** A policy directory saved here is an ordinary one: transformers loads it and agrees. Skipped without Python. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseLlamaConfig } from '../../src/engine/local/config.ts';
import { createLocalEngine } from '../../src/engine/local/engine.ts';
import { initialiseParameters } from '../../src/engine/local/parameters.ts';
import { loadPolicy, savePolicy } from '../../src/engine/local/policy-directory.ts';
import { trainTokenizer } from '../../src/tokens/bpe.ts';
import { languageFiles } from '../../src/tokens/language.ts';
import { loadPromptTemplate } from '../../src/tokens/template.ts';

const PYTHON = 'python3';
const importable = spawnSync(PYTHON, ['-c', 'import torch, transformers'], { timeout: 120_000 });
const replySchema = z.strictObject({
  promptIds: z.array(z.int()),
  logprobs: z.array(z.number()),
});
const MESSAGES = [
  { role: 'system', content: '<|mem0.extract|>' },
  { role: 'user', content: '<|new|>user: my cat is called Muze<|end|>\nassistant: ok 42' },
] as const;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memwriter-transformers-'));
});
afterAll(() => rm(root, { recursive: true }));

describe.skipIf(importable.status !== 0)('transformers', () => {
  test.each(['F32', 'F16', 'BF16'] as const)(
    'loads a directory saved as %s and agrees',
    async (dtype) => {
      const texts = Array.from({ length: 20 }, (_, i) => `${MESSAGES[1].content} ${i}`);
      const language = languageFiles(
        trainTokenizer(texts, { vocabularySize: 310, minimumCount: 2 }),
        128,
      );
      const config = {
        model_type: 'llama',
        hidden_size: 32,
        intermediate_size: 48,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 16,
        vocab_size: 310,
        max_position_embeddings: 128,
        rms_norm_eps: 1e-5,
        tie_word_embeddings: true,
        eos_token_id: 1,
      };
      const llama = parseLlamaConfig(config);
      const parameters = initialiseParameters(llama, 'seed');
      for (const [i, value] of parameters.flat.entries()) parameters.flat[i] = value * 4;
      const directory = join(root, dtype);
      await savePolicy(
        directory,
        { model: { config: llama, parameters }, config, language },
        dtype,
      );

      const template = await loadPromptTemplate(directory);
      const promptIds = template.render([...MESSAGES]);
      const policy = await loadPolicy(directory);
      await using engine = createLocalEngine(policy, { threads: 1, warn: () => undefined });
      const ours = await engine.score(promptIds, 1);

      const input = JSON.stringify({ directory, messages: withoutControl(), tokenIds: promptIds });
      const run = spawnSync(PYTHON, ['test/e2e/score-with-transformers.py'], {
        input,
        encoding: 'utf8',
      });
      expect(run.status, run.stderr).toBe(0);
      const theirs = replySchema.parse(JSON.parse(run.stdout));
      expect(theirs.promptIds).toEqual(promptIds);
      expect(theirs.logprobs).toHaveLength(ours.length);
      for (const [i, value] of ours.entries()) expect(theirs.logprobs[i]).toBeCloseTo(value, 4);
    },
  );
});

/** Our renderer defuses a control token in a message; transformers must be given the defused text. */
function withoutControl() {
  return MESSAGES.map(({ role, content }) => ({
    role,
    content: content.replace('<|end|>', '< |end|>'),
  }));
}
