/** The installed SDK's own prompt and parser functions, cut out of its bundle, as oracles that need no import of it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';
import type { ChatMessage } from '../../../../core/chat.ts';

export interface SdkPromptParts {
  readonly lastKMessages: readonly { readonly role: string; readonly content: string }[];
  readonly existingMemories: readonly { readonly id: string; readonly text: string }[];
  readonly newMessages: string;
  readonly currentDate: string;
}

const sdkSchema = z.object({
  systemPrompt: z.string(),
  userPrompt: z.custom<(parts: SdkPromptParts) => string>((value) => typeof value === 'function'),
  extractJson: z.custom<(text: string) => string>((value) => typeof value === 'function'),
});

export interface Sdk {
  readonly extractJson: (text: string) => string;
  /** The request as the SDK sends it. */
  request(parts: SdkPromptParts): ChatMessage[];
}

export function loadSdkSource(): Sdk {
  const bundle = createRequire(import.meta.url)
    .resolve('mem0ai/oss')
    .replace(/\.js$/, '.mjs');
  const text = readFileSync(bundle, 'utf8');
  const code = [
    between(text, 'var ADDITIVE_EXTRACTION_PROMPT = `', 'var AGENT_CONTEXT_SUFFIX'),
    between(text, 'var PAST_MESSAGE_TRUNCATION_LIMIT', '// src/oss/src/llms/langchain.ts'),
    '({ systemPrompt: ADDITIVE_EXTRACTION_PROMPT, userPrompt: generateAdditiveExtractionPrompt, extractJson })',
  ].join('\n');
  const sdk = sdkSchema.parse(runInNewContext(code));
  return {
    extractJson: sdk.extractJson,
    request: (parts) => [
      { role: 'system', content: sdk.systemPrompt },
      { role: 'user', content: sdk.userPrompt(parts) },
    ],
  };
}

function between(text: string, from: string, to: string): string {
  const start = text.indexOf(from);
  const end = text.indexOf(to, start);
  if (start === -1 || end === -1) throw new Error(`the SDK's bundle has no ${from}`);
  return text.slice(start, end);
}
