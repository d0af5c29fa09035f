/** `memwriter gateway`: one slot in front of any OpenAI-compatible provider, every call on record. */
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Call } from '../core/trace.ts';
import { createGateway } from '../gateway/gateway.ts';
import { createHashEmbedder } from '../llm/hash-embedder.ts';
import { endpointConfigSchema } from './config.ts';
import { parseInput } from './config-file.ts';
import { endpointOf } from './stack.ts';
import { createUsageMeter, type UsageSummary, usageLines } from './usage-meter.ts';

interface GatewayFlags {
  readonly upstream: string;
  readonly upstreamModel: string;
  readonly keyEnv: string;
  readonly timeoutMs: string;
  readonly port: string;
  readonly record?: string;
  readonly promptUsd?: string;
  readonly completionUsd?: string;
  readonly json?: boolean;
}

export function registerGateway(program: Command): void {
  program
    .command('gateway')
    .description("put a recorder between a memory framework and its writer's endpoint")
    .requiredOption('--upstream <url>', 'OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1')
    .requiredOption('--upstream-model <model>', 'model name to ask for there')
    .option('--key-env <name>', 'environment variable with its key', 'OPENAI_API_KEY')
    .option('--timeout-ms <ms>', 'longest wait for one answer', '120000')
    .option('--port <port>', 'loopback port; 0 lets the system choose', '0')
    .option('--record <file>', 'append each call to this JSONL file (it holds what users said)')
    .option('--prompt-usd <usd>', 'price of a million prompt tokens')
    .option('--completion-usd <usd>', 'price of a million completion tokens')
    .option('--json', 'print two JSON objects: where to connect, and at the end what was used')
    .addHelpText(
      'after',
      `
Point the framework's model at the printed base URL and key. Ctrl-C ends it and prints what was used.

Examples:
  memwriter gateway --upstream https://api.example.com/v1 --upstream-model small --record calls.jsonl
  memwriter gateway --upstream http://127.0.0.1:8000/v1 --upstream-model my-writer --port 4010`,
    )
    .action(runGateway);
}

const wholeNumber = z.coerce.number().pipe(z.int().nonnegative());
const usd = z.coerce.number().nonnegative();
const flagsSchema = z
  .object({
    upstream: endpointConfigSchema.shape.baseUrl,
    upstreamModel: endpointConfigSchema.shape.model,
    keyEnv: endpointConfigSchema.shape.apiKeyEnv,
    timeoutMs: wholeNumber.refine((ms) => ms > 0, 'must be above 0'),
    port: wholeNumber.refine((port) => port <= 65_535, 'must be at most 65535'),
    promptUsd: usd.optional(),
    completionUsd: usd.optional(),
  })
  .refine(
    ({ promptUsd, completionUsd }) => (promptUsd === undefined) === (completionUsd === undefined),
    'give both prices, --prompt-usd and --completion-usd, or none',
  );

async function runGateway(flags: GatewayFlags): Promise<void> {
  const options = parseInput(flagsSchema, flags, { where: 'the options' });
  const { upstream, upstreamModel, keyEnv, timeoutMs, port, promptUsd, completionUsd } = options;
  const endpoint = endpointOf({
    baseUrl: upstream,
    model: upstreamModel,
    apiKeyEnv: keyEnv,
    timeoutMs,
  });
  const meter = createUsageMeter();
  const record = flags.record === undefined ? undefined : await openRecord(flags.record);
  const stop = untilInterrupted();
  await using gateway = await createGateway({
    embedder: createHashEmbedder(),
    port,
    ...(promptUsd !== undefined &&
      completionUsd !== undefined && {
        prices: {
          [upstreamModel]: {
            promptUsdPerMillion: promptUsd,
            completionUsdPerMillion: completionUsd,
          },
        },
      }),
  });
  const slot = gateway.openSlot({
    writer: { kind: 'relay', endpoint, timeoutMs },
    stages: [],
    seed: 'gateway',
    onCall: (call) => {
      meter.add(call);
      record?.write(call);
    },
  });
  const { baseUrl, apiKey, model } = slot.model;
  const connect = { baseUrl, apiKey, model, embeddings: slot.embeddings };
  process.stdout.write(flags.json === true ? `${JSON.stringify(connect)}\n` : connectText(connect));
  await stop;
  await slot[Symbol.asyncDispose]();
  await record?.close();
  const summary = { ...meter.summary(), refused: gateway.refusals.count };
  process.stdout.write(flags.json === true ? `${JSON.stringify(summary)}\n` : usageText(summary));
}

interface CallRecord {
  write(call: Call): void;
  close(): Promise<void>;
}

/** Only its owner may read it: it holds what users said. */
async function openRecord(file: string): Promise<CallRecord> {
  const stream = createWriteStream(file, { flags: 'a', mode: 0o600 });
  await new Promise<void>((resolve, reject) => {
    stream.once('open', () => resolve());
    stream.once('error', reject);
  });
  return {
    write: (call) => stream.write(`${JSON.stringify({ at: new Date().toISOString(), ...call })}\n`),
    close: async () => {
      stream.end();
      await finished(stream);
    },
  };
}

/** Here Ctrl-C is how the work is meant to end, so it ends with success. */
function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
}

function connectText({
  baseUrl,
  apiKey,
  model,
  embeddings,
}: {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  readonly embeddings: { readonly model: string; readonly dimensions: number };
}): string {
  return [
    `base URL    ${baseUrl}`,
    `key         ${apiKey}`,
    `model       ${model}`,
    `embeddings  ${embeddings.model} (${embeddings.dimensions} dimensions, lexical, on this machine)`,
    'Ctrl-C ends it\n',
  ].join('\n');
}

function usageText(summary: UsageSummary & { readonly refused: number }): string {
  return [...usageLines(summary), `${summary.refused} requests refused at the door`, ''].join('\n');
}
