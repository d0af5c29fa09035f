/** MemOS as a harness: the reader of its own server, or the simple one that falls back on the transcript. */
import type { BridgeSpec, PythonEnvironment } from '../../bridge/contract.ts';
import { memosExtractStage } from './stage.ts';

export const memosEnvironment: PythonEnvironment = {
  name: 'memos',
  title: 'MemOS: memory reader over general text memory',
  package: 'MemoryOS',
  version: '2.0.33',
  minimumPython: [3, 11],
  belowPython: [3, 14],
  lock: 'bridges/memos/requirements.lock',
  tiktoken: [],
  installedMegabytes: 660,
};

const base = {
  environment: memosEnvironment,
  script: 'bridges/memos/bridge.py',
  // Its default of 5 s, three times over, would look like "nothing to store".
  variables: { MOS_EMBEDDER_TIMEOUT: '60' },
  stages: [memosExtractStage],
  requiredStages: [memosExtractStage.name],
  heldOut: false,
  scenes: ['chat', 'working', 'coding'],
  sideEffects: [],
  residentMegabytes: 280,
} as const;

export const memosSpec: BridgeSpec = {
  ...base,
  configuration: 'memos',
  settings: { reader: 'multimodal_struct' },
};

export const memosSimpleSpec: BridgeSpec = {
  ...base,
  configuration: 'memos:simple',
  settings: { reader: 'simple_struct' },
};
