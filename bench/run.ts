/** `npm run bench [-- name …]`: every figure is a ratio of things measured in turns in this one run. */
import { cpus } from 'node:os';
import { benchBridge } from './bridge.ts';
import { benchEngine } from './engine.ts';
import { benchFork } from './fork.ts';
import { benchGateway } from './gateway.ts';
import { benchSchedule } from './schedule.ts';

const BENCHES: Readonly<Record<string, () => Promise<unknown>>> = {
  engine: benchEngine,
  schedule: benchSchedule,
  fork: benchFork,
  gateway: benchGateway,
  bridge: benchBridge,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(
    `no bench called ${unknown.join(', ')}: choose from ${Object.keys(BENCHES).join(', ')}`,
  );
  process.exit(2);
}

console.log(
  JSON.stringify({
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}`,
    node: process.version,
  }),
);
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(`bench ${name} …`);
  console.log(JSON.stringify({ bench: name, ...Object(await bench()) }));
}
