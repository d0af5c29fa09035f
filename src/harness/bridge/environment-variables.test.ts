import { expect, test } from 'vitest';
import { bridgeVariables } from './environment-variables.ts';

const sources = { environmentDirectory: '/env', homeDirectory: '/home/bank', variables: {} };

test('nothing of this process’s environment reaches a bridge', () => {
  expect(bridgeVariables(sources)['PATH']).toBe('/env/bin:/usr/bin:/bin');
  expect(bridgeVariables(sources)).toMatchObject({ HOME: '/home/bank', TMPDIR: '/home/bank' });
});

test('the network is a dead proxy, the loopback is not', () => {
  const variables = bridgeVariables(sources);
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY']) {
    expect(variables[name]).toBe('http://127.0.0.1:9');
    expect(variables[name.toLowerCase()]).toBe(variables[name]);
  }
  expect([variables['NO_PROXY'], variables['no_proxy']]).toEqual(
    Array(2).fill('127.0.0.1,localhost'),
  );
});

test('an adapter’s own variables come last', () => {
  const variables = bridgeVariables({ ...sources, variables: { OMP_NUM_THREADS: '2', OWN: 'x' } });
  expect(variables).toMatchObject({ OMP_NUM_THREADS: '2', OWN: 'x' });
});
