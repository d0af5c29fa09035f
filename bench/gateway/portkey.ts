/** Portkey's gateway, installed on first use into a cache of the bench and run as its users run it. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { request } from 'undici';
import type { Child } from './child.ts';

const VERSION = '1.15.2';
const CACHE = join('node_modules', '.cache', 'bench-portkey');

export async function startPortkey(upstreamUrl: string): Promise<Child> {
  const entry = join(CACHE, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (!existsSync(entry)) install();
  const port = await freePort();
  const child = spawn(process.execPath, [entry, '--headless', `--port=${port}`], {
    stdio: 'ignore',
    env: {
      NODE_ENV: 'production',
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost',
    },
  });
  await listening(`http://127.0.0.1:${port}/`);
  return {
    target: {
      url: `http://127.0.0.1:${port}/v1/chat/completions`,
      headers: {
        authorization: 'Bearer upstream',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': upstreamUrl.replace('/chat/completions', ''),
      },
    },
    [Symbol.dispose]: () => child.kill(),
  };
}

function install(): void {
  mkdirSync(CACHE, { recursive: true });
  const what = `@portkey-ai/gateway@${VERSION}`;
  const options = ['--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', '--prefix', CACHE, what, ...options], { stdio: 'ignore' });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function listening(url: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const { body } = await request(url);
      await body.dump();
      return;
    } catch (error) {
      if (tries === 100) throw new Error('Portkey does not listen', { cause: error });
      await wait(100);
    }
  }
}
