/** Closed-loop load: a fixed number of connections, each asking again as soon as it is answered. */
import { Pool } from 'undici';
import type { Target } from './child.ts';

export interface LoadOptions {
  readonly body: Buffer;
  readonly concurrency: number;
  readonly durationMs: number;
}

export interface LoadResult {
  readonly requestsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export async function load(target: Target, options: LoadOptions): Promise<LoadResult> {
  const { origin, pathname } = new URL(target.url);
  const pool = new Pool(origin, { connections: options.concurrency });
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  const endMs = startedMs + options.durationMs;
  const lane = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const sentMs = performance.now();
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: pathname,
        headers: { 'content-type': 'application/json', ...target.headers },
        body: options.body,
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${target.url}: HTTP ${statusCode}: ${text}`);
      latenciesMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, lane));
  const elapsedS = (performance.now() - startedMs) / 1000;
  await pool.close();
  latenciesMs.sort((a, b) => a - b);
  return {
    requestsPerS: latenciesMs.length / elapsedS,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
  };
}

function quantile(sorted: readonly number[], q: number): number {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  if (value === undefined) throw new Error('no request was answered');
  return value;
}
