/** The chat template of a Hugging Face directory, rendered to token ids, and the ids that end an answer. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { z } from 'zod';
import { UserError } from '../lib/user-error.ts';
import type { PromptTemplate } from './contract.ts';
import { type DirectoryTokenizer, loadTokenizer, parseJson } from './tokenizer.ts';

const specialSchema = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish();

const tokenizerConfigSchema = z.looseObject({
  chat_template: z
    .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
    .optional(),
  bos_token: specialSchema,
  eos_token: specialSchema,
  pad_token: specialSchema,
});
type TokenizerConfig = z.infer<typeof tokenizerConfigSchema>;

const generationConfigSchema = z.looseObject({
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
});

export async function loadPromptTemplate(directory: string): Promise<PromptTemplate> {
  const tokenizer = await loadTokenizer(directory);
  const config = tokenizerConfigSchema.parse(await readJson(directory, 'tokenizer_config.json'));
  const template = new Template(await templateText(directory, config));
  const stopIds = await readStopIds(directory, config, tokenizer);
  const shared = {
    bos_token: config.bos_token ?? '',
    eos_token: config.eos_token ?? '',
    pad_token: config.pad_token ?? '',
    add_generation_prompt: true,
  };
  return {
    tokenizer,
    stopIds,
    render: (messages) =>
      tokenizer.encode(
        template.render({
          ...shared,
          messages: messages.map(({ role, content }) => ({
            role,
            content: neutralise(content, tokenizer.controlTokens),
          })),
        }),
      ),
  };
}

/** No message can open another role or end its own: a control token spelled in its text loses its spelling. */
function neutralise(content: string, controlTokens: readonly string[]): string {
  return controlTokens.reduce(
    (text, token) => text.replaceAll(token, `${token.slice(0, 1)} ${token.slice(1)}`),
    content,
  );
}

async function templateText(directory: string, config: TokenizerConfig): Promise<string> {
  const file = join(directory, 'chat_template.jinja');
  if (existsSync(file)) return readFile(file, 'utf8');
  const { chat_template: inline } = config;
  if (typeof inline === 'string') return inline;
  const named = inline?.find(({ name }) => name === 'default');
  if (named !== undefined) return named.template;
  throw new UserError(
    `${directory} has no chat template: neither chat_template.jinja nor chat_template in tokenizer_config.json`,
  );
}

async function readStopIds(
  directory: string,
  config: TokenizerConfig,
  tokenizer: DirectoryTokenizer,
): Promise<number[]> {
  const ids = new Set<number>();
  if (existsSync(join(directory, 'generation_config.json'))) {
    const { eos_token_id: eos } = generationConfigSchema.parse(
      await readJson(directory, 'generation_config.json'),
    );
    for (const id of [eos ?? []].flat()) ids.add(id);
  }
  if (typeof config.eos_token === 'string') ids.add(tokenizer.idOf(config.eos_token));
  if (ids.size === 0) {
    throw new UserError(
      `${directory} says nowhere which token ends an answer: no eos_token_id in generation_config.json, no eos_token in tokenizer_config.json`,
    );
  }
  return [...ids];
}

async function readJson(directory: string, name: string): Promise<unknown> {
  const file = join(directory, name);
  return parseJson(await readFile(file, 'utf8'), file);
}
