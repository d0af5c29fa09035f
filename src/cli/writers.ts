/** The writers that a command compares: local policies, any OpenAI-compatible endpoint, and the two controls. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createLocalEngine } from '../engine/local/engine.ts';
import { type Control, controlReplies } from '../exam/controls.ts';
import type { Writer } from '../gateway/contract.ts';
import { loadPromptTemplate } from '../tokens/template.ts';
import type { EndpointConfig, SamplingConfig, StackConfig } from './config.ts';
import { BadInputError } from './exit-codes.ts';
import { openPolicy } from './open-policy.ts';
import { endpointOf } from './stack.ts';

export interface NamedWriter extends AsyncDisposable {
  readonly name: string;
  readonly writer: Writer;
}

export async function openLocalWriter(
  { name, directory }: { readonly name: string; readonly directory: string },
  { temperature, maxTokens, contextLength }: SamplingConfig,
  { threads }: Pick<StackConfig, 'threads'>,
): Promise<NamedWriter> {
  assertPolicyDirectory(directory);
  const template = await loadPromptTemplate(directory);
  const policy = await openPolicy(directory, { contextLength });
  const engine = createLocalEngine(policy, { threads, warn: warnOnce });
  return {
    name,
    writer: { kind: 'render', engine, template, temperature, maxTokens },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

export function assertPolicyDirectory(directory: string): void {
  if (existsSync(join(directory, 'config.json'))) return;
  throw new BadInputError(
    `${directory} is not a policy: it has no config.json. Give a Hugging Face directory with a Llama model`,
  );
}

export function openEndpointWriter(name: string, config: EndpointConfig): NamedWriter {
  const endpoint = endpointOf(config);
  return {
    name,
    writer: { kind: 'relay', endpoint, timeoutMs: config.timeoutMs },
    [Symbol.asyncDispose]: async () => {},
  };
}

export function openControl(name: Control): NamedWriter {
  return {
    name,
    writer: { kind: 'scripted', reply: controlReplies[name] },
    [Symbol.asyncDispose]: async () => {},
  };
}

export function warnOnce(message: string): void {
  process.stderr.write(`warning: ${message}\n`);
}
