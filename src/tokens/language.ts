/** The text files with which a policy that we train from scratch describes its language. */
import { CONTROL_TOKENS } from '../core/special-tokens.ts';
import { createTokenizer } from './tokenizer.ts';

/** Plain ChatML-like turns; `developer` and `tool` speak with the system's and the user's marks. */
const CHAT_TEMPLATE = [
  '{%- for message in messages -%}',
  "{%- set role = {'developer': 'system', 'tool': 'user'}.get(message['role'], message['role']) -%}",
  "{{- '<|' + role + '|>' + message['content'] + '<|end|>' -}}",
  '{%- endfor -%}',
  "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}",
].join('');

/** `tokenizer.json`, `tokenizer_config.json` and `generation_config.json` by file name. */
export function languageFiles(tokenizerJson: object, contextLength: number): Map<string, string> {
  const definition = json(tokenizerJson);
  const tokenizerConfig = json({
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: null,
    eos_token: '<|end|>',
    pad_token: '<|pad|>',
    additional_special_tokens: CONTROL_TOKENS.filter((token) =>
      /system|user|assistant/.test(token),
    ),
    clean_up_tokenization_spaces: false,
    model_max_length: contextLength,
    chat_template: CHAT_TEMPLATE,
  });
  const tokenizer = createTokenizer(definition, tokenizerConfig, 'a new tokenizer');
  const generationConfig = json({
    eos_token_id: tokenizer.idOf('<|end|>'),
    pad_token_id: tokenizer.idOf('<|pad|>'),
    do_sample: true,
    temperature: 1,
  });
  return new Map([
    ['tokenizer.json', definition],
    ['tokenizer_config.json', tokenizerConfig],
    ['generation_config.json', generationConfig],
  ]);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}
