/** A parent for the test to kill: it opens a bank, starts a write that never ends, and prints the bridge's process id. */
import { openBridgeBank } from '../../../src/harness/bridge/bank.ts';
import { BridgePool } from '../../../src/harness/bridge/pool.ts';

const [dir = '', kind = ''] = process.argv.slice(2);
const endpoint = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'key', model: 'writer' };
const at = '2024-05-08T20:15:00+02:00';
const bank = await openBridgeBank(
  { dir, model: endpoint, embeddings: { ...endpoint, dimensions: 8 }, now: at },
  {
    pool: new BridgePool({ warm: 0 }),
    kind: JSON.parse(kind),
    framework: 'fake',
    topK: 5,
    openTimeoutMs: 20_000,
    timeoutMs: 60_000,
  },
);
process.stdout.write(String(bank.pid));
await bank.write({
  id: 'c',
  userId: 'ann',
  sessionId: 's',
  index: 0,
  at,
  scene: 'chat',
  messages: [{ id: 'm', role: 'user', text: 'hang' }],
  tokens: 1,
  oversized: false,
});
