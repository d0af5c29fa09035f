/** Mem0's Python SDKs as harnesses: 1.x decides over every fact, 2.x only adds. */
import type { BridgeSpec, PythonEnvironment } from '../../bridge/contract.ts';
import { extractStage2x } from './stage-2x.ts';
import { effectOf1x, factsStage, updateStage } from './stages-1x.ts';

const shared = {
  package: 'mem0ai',
  minimumPython: [3, 11],
  belowPython: [3, 14],
  tiktoken: [],
  installedMegabytes: 175,
} as const;

export const mem0Environment1x: PythonEnvironment = {
  ...shared,
  name: 'mem0-1x',
  title: 'Mem0 1.x in Python: two calls a write, adds, updates and deletes',
  version: '1.0.11',
  lock: 'bridges/mem0-python/requirements-1x.lock',
};

export const mem0Environment2x: PythonEnvironment = {
  ...shared,
  name: 'mem0-2x',
  title: 'Mem0 2.x in Python: one call a write, adds only',
  version: '2.2.1',
  lock: 'bridges/mem0-python/requirements-2x.lock',
};

const base = {
  script: 'bridges/mem0-python/bridge.py',
  settings: {},
  variables: { MEM0_TELEMETRY: 'False' },
  heldOut: false,
  scenes: ['chat', 'working', 'coding'],
  sideEffects: [],
  residentMegabytes: 130,
} as const;

export const mem0Spec1x: BridgeSpec = {
  ...base,
  configuration: 'mem0:1x',
  environment: mem0Environment1x,
  stages: [factsStage, updateStage],
  requiredStages: [factsStage.name],
  effectOf: effectOf1x,
  restartsOnNewDay: true,
};

export const mem0Spec2x: BridgeSpec = {
  ...base,
  configuration: 'mem0:2x',
  environment: mem0Environment2x,
  stages: [extractStage2x],
  requiredStages: [extractStage2x.name],
};
