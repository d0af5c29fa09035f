/** MemOS as a harness: the reader of its own server, over either store, or the simple one that falls back on the transcript. */
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

/** What the tree alone needs is a PostgreSQL server, whose wheels end at Python 3.12. */
export const memosTreeEnvironment: PythonEnvironment = {
  ...memosEnvironment,
  name: 'memos-tree',
  title: 'MemOS: memory reader over tree text memory, on an embedded PostgreSQL',
  belowPython: [3, 13],
  lock: 'bridges/memos/requirements-tree.lock',
  installedMegabytes: 700,
  optional: true,
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
  settings: { reader: 'multimodal_struct', store: 'general' },
};

export const memosSimpleSpec: BridgeSpec = {
  ...base,
  configuration: 'memos:simple',
  settings: { reader: 'simple_struct', store: 'general' },
};

/** The same prompt, answers and memories as `memos`: only the store and its ranking are others. */
export const memosTreeSpec: BridgeSpec = {
  ...base,
  environment: memosTreeEnvironment,
  configuration: 'memos:tree',
  settings: { reader: 'multimodal_struct', store: 'tree' },
  residentMegabytes: 340,
};
