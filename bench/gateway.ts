/** What the gateway's relay costs: against the provider itself, a bare fetch proxy and Portkey, 37 kB bodies. */
import { pathToFileURL } from 'node:url';
import { type Child, startChild } from './gateway/child.ts';
import { type LoadResult, load } from './gateway/load.ts';
import { startPortkey } from './gateway/portkey.ts';

const BODY = Buffer.from(
  JSON.stringify({
    model: 'memwriter',
    temperature: 0.1,
    response_format: { type: 'json_object' },
    messages: [
      {
        role: 'system',
        content: `extract\n${'Remember what the user says. "Quoted", \\ and ü. '.repeat(670)}`,
      },
      { role: 'user', content: 'Input:\n'.concat('user: I moved to Graz.\n'.repeat(90)) },
    ],
  }),
);

const ROUNDS = 5;
const TARGETS = ['provider', 'fetch-proxy', 'memwriter', 'portkey'] as const;
type TargetName = (typeof TARGETS)[number];

export interface GatewayBench {
  readonly bodyBytes: number;
  /** Medians over rounds in which the targets take turns. */
  readonly at1: Readonly<Record<TargetName, LoadResult>>;
  readonly at32: Readonly<Record<TargetName, LoadResult>>;
  /** p50 at concurrency 1, over the provider itself. Goal: ≤ 1. */
  readonly addedMs: number;
  /** Requests/s at concurrency 32. Goal: ≥ 3. */
  readonly timesPortkey: number;
  readonly timesFetchProxy: number;
}

export async function benchGateway(): Promise<GatewayBench> {
  using provider = await startChild('upstream.ts', '');
  const upstreamUrl = provider.target.url;
  using fetchProxy = await startChild('fetch-proxy.ts', upstreamUrl);
  using memwriter = await startChild('memwriter-relay.ts', upstreamUrl);
  using portkey = await startPortkey(upstreamUrl);
  const children = { provider, 'fetch-proxy': fetchProxy, memwriter, portkey };
  const at1 = await rounds(children, 1);
  const at32 = await rounds(children, 32);
  return {
    bodyBytes: BODY.byteLength,
    at1,
    at32,
    addedMs: at1.memwriter.p50Ms - at1.provider.p50Ms,
    timesPortkey: at32.memwriter.requestsPerS / at32.portkey.requestsPerS,
    timesFetchProxy: at32.memwriter.requestsPerS / at32['fetch-proxy'].requestsPerS,
  };
}

type Results = Readonly<Record<TargetName, LoadResult>>;

async function rounds(
  children: Readonly<Record<TargetName, Child>>,
  concurrency: number,
): Promise<Results> {
  const results: Record<TargetName, LoadResult[]> = {
    provider: [],
    'fetch-proxy': [],
    memwriter: [],
    portkey: [],
  };
  for (const name of TARGETS)
    await load(children[name].target, { body: BODY, concurrency, durationMs: 1500 });
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of TARGETS) {
      const options = { body: BODY, concurrency, durationMs: 1000 };
      results[name].push(await load(children[name].target, options));
    }
  }
  return {
    provider: medianOf(results.provider),
    'fetch-proxy': medianOf(results['fetch-proxy']),
    memwriter: medianOf(results.memwriter),
    portkey: medianOf(results.portkey),
  };
}

function medianOf(results: readonly LoadResult[]): LoadResult {
  const sorted = [...results].sort((a, b) => a.requestsPerS - b.requestsPerS);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (median === undefined) throw new Error('no round was run');
  return median;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  process.stdout.write(`${JSON.stringify(await benchGateway(), null, 2)}\n`);
}
