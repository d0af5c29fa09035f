/** Everything that stands still while writers are compared or trained: gateway, harness, reader, judge, tokenizer. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createExamCache } from '../exam/cache.ts';
import type { Judge, Reader } from '../exam/contract.ts';
import { createLlmJudge } from '../exam/llm-judge.ts';
import { createLlmReader } from '../exam/llm-reader.ts';
import { createRuleJudge } from '../exam/rule-judge.ts';
import { createRuleReader } from '../exam/rule-reader.ts';
import type { Examiners } from '../exam/sit.ts';
import type { Gateway } from '../gateway/contract.ts';
import { createGateway } from '../gateway/gateway.ts';
import { BridgePool } from '../harness/bridge/pool.ts';
import type { Harness } from '../harness/contract.ts';
import { systemClock } from '../lib/clock.ts';
import { createPool } from '../lib/pool.ts';
import { createRng } from '../lib/rng.ts';
import { createChatClient } from '../llm/client.ts';
import type { PriceTable } from '../llm/cost.ts';
import type { Embedder } from '../llm/embedder.ts';
import { createEndpointEmbedder } from '../llm/embeddings.ts';
import { createHashEmbedder } from '../llm/hash-embedder.ts';
import { createHttpClient, type HttpClient } from '../llm/http.ts';
import { loadTokenizer } from '../tokens/tokenizer.ts';
import type { EndpointConfig, ExaminerConfig, StackConfig } from './config.ts';
import { BadInputError } from './exit-codes.ts';
import { openHarness } from './harnesses.ts';
import { PACKAGE_ROOT } from './package-files.ts';
import { newScratchDirectory } from './scratch-directory.ts';

export interface Stack extends AsyncDisposable {
  readonly config: StackConfig;
  readonly gateway: Gateway;
  /** The one of the configuration: what is evaluated in. */
  readonly harness: Harness;
  /** By configuration: all that were asked for. */
  readonly harnesses: ReadonlyMap<string, Harness>;
  readonly examiners: Examiners;
  readonly embedder: Embedder;
  readonly countTokens: (text: string) => number;
  /** sha256 of the pinned tokenizer. */
  readonly tokenizerHash: string;
  /** Working banks; removed with the stack. */
  readonly scratch: string;
}

export const SHIPPED_POLICIES = {
  base: join(PACKAGE_ROOT, 'models/base'),
  teacher: join(PACKAGE_ROOT, 'models/teacher'),
} as const;

export interface StackOptions {
  /** Aborting ends what reader and judge are being asked. */
  readonly signal?: AbortSignal;
  /** By model name of relay writers. */
  readonly prices?: PriceTable;
  /** What training runs in; by default the configuration's one harness. */
  readonly configurations?: readonly string[];
}

export async function openStack(
  config: StackConfig,
  { signal, prices, configurations }: StackOptions = {},
): Promise<Stack> {
  const tokenizer = await loadTokenizer(config.tokenizer ?? SHIPPED_POLICIES.base);
  // Before anything listens: a framework that is not installed must end the command.
  const { configuration, topK } = config.harness;
  const pool = new BridgePool();
  const harnesses = new Map<string, Harness>();
  for (const name of configurations ?? [configuration]) {
    harnesses.set(name, await openHarness(name, { topK, pool }));
  }
  const [harness] = harnesses.values();
  if (harness === undefined) throw new BadInputError('no configuration is named');
  const http = createHttpClient({ clock: systemClock, rng: createRng('memwriter/http') });
  const embedder = embedderOf(config, http);
  const gateway = await createGateway({
    embedder,
    ...(prices && { prices }),
  });
  const scratch = await newScratchDirectory('banks');
  return {
    config,
    gateway,
    harness,
    harnesses,
    embedder,
    examiners: {
      reader: readerOf(config.reader, { http, ...(signal && { signal }) }),
      judge: judgeOf(config.judge, { http, ...(signal && { signal }) }),
      cache: createExamCache(),
      pool: createPool(config.concurrency),
      ...(signal && { signal }),
    },
    countTokens: (text) => tokenizer.count(text),
    tokenizerHash: tokenizer.hash,
    scratch,
    async [Symbol.asyncDispose]() {
      for (const one of harnesses.values()) await one[Symbol.asyncDispose]();
      await pool[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      await http[Symbol.asyncDispose]();
      await rm(scratch, { recursive: true, force: true });
    },
  };
}

function embedderOf({ embeddings }: StackConfig, http: HttpClient): Embedder {
  if (embeddings.kind === 'hash') return createHashEmbedder({ dimensions: embeddings.dimensions });
  const { dimensions, timeoutMs } = embeddings;
  return createEndpointEmbedder({ http, endpoint: endpointOf(embeddings), dimensions, timeoutMs });
}

interface Line {
  readonly http: HttpClient;
  readonly signal?: AbortSignal;
}

function readerOf(config: ExaminerConfig, { http, ...signal }: Line): Reader {
  if (config.kind === 'rule') return createRuleReader();
  const client = chatClientOf(config, http);
  return createLlmReader({ client, maxTokens: config.maxTokens, ...signal });
}

function judgeOf(config: ExaminerConfig, { http, ...signal }: Line): Judge {
  if (config.kind === 'rule') return createRuleJudge();
  return createLlmJudge(chatClientOf(config, http), signal);
}

function chatClientOf(
  config: EndpointConfig,
  http: HttpClient,
): ReturnType<typeof createChatClient> {
  return createChatClient({ http, endpoint: endpointOf(config), timeoutMs: config.timeoutMs });
}

/** A loopback server may need no key; anything else without one is refused before a run starts. */
export function endpointOf({ baseUrl, model, apiKeyEnv }: EndpointConfig): {
  baseUrl: string;
  model: string;
  apiKey: string;
} {
  const apiKey = process.env[apiKeyEnv];
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(new URL(baseUrl).hostname);
  if (apiKey === undefined && !local) {
    throw new BadInputError(`${baseUrl} needs a key: set the environment variable ${apiKeyEnv}`);
  }
  return { baseUrl: baseUrl.replace(/\/$/, ''), model, apiKey: apiKey ?? 'none' };
}
