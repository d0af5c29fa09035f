/** Loads the tokenizer of a Hugging Face directory. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { sha256 } from '../lib/hash.ts';
import { UserError } from '../lib/user-error.ts';
import type { Tokenizer } from './contract.ts';

const tokenizerJsonSchema = z.looseObject({
  model: z.looseObject({ type: z.string() }),
  added_tokens: z.array(z.looseObject({ content: z.string(), special: z.boolean() })),
});

/** What `loadPromptTemplate` needs beyond the contract. */
export interface DirectoryTokenizer extends Tokenizer {
  /** Tokens that only a chat template may emit. */
  readonly controlTokens: readonly string[];
}

/** Throws one sentence that names the file when it is absent or not a tokenizer. */
export async function loadTokenizer(directory: string): Promise<DirectoryTokenizer> {
  const definition = await readFile(join(directory, 'tokenizer.json'), 'utf8');
  const configText = await readFile(join(directory, 'tokenizer_config.json'), 'utf8');
  return createTokenizer(definition, configText, directory);
}

/** The same from the two files' texts; `origin` names them in errors. */
export function createTokenizer(
  definition: string,
  configText: string,
  origin: string,
): DirectoryTokenizer {
  const parsed = parseJson(definition, join(origin, 'tokenizer.json'));
  const shape = tokenizerJsonSchema.safeParse(parsed);
  if (!shape.success) {
    throw new UserError(
      `${join(origin, 'tokenizer.json')} is not a tokenizer: ${z.prettifyError(shape.error)}`,
    );
  }
  const config = z
    .looseObject({})
    .parse(parseJson(configText, join(origin, 'tokenizer_config.json')));
  const inner = new HuggingFaceTokenizer(shape.data, config);
  const encode = (text: string): number[] =>
    text === '' ? [] : inner.encode(text, { add_special_tokens: false }).ids;
  return {
    vocabularySize: inner.get_vocab(true).size,
    hash: sha256(definition),
    controlTokens: shape.data.added_tokens
      .filter(({ special }) => special)
      .map(({ content }) => content),
    encode,
    decode: (ids) =>
      ids.length === 0
        ? ''
        : inner.decode([...ids], {
            skip_special_tokens: false,
            clean_up_tokenization_spaces: false,
          }),
    idOf: (token) => {
      const id = inner.token_to_id(token);
      if (id === undefined) throw new Error(`the vocabulary has no token ${JSON.stringify(token)}`);
      return id;
    },
    count: (text) => encode(text).length,
  };
}

export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UserError(`${file} is not JSON`, { cause });
  }
}
