/** Hy-Memory as three harnesses: its chat, working and coding scenes. */
import type { BridgeSpec, PythonEnvironment } from '../../bridge/contract.ts';
import { chatExtractStage, chatReconcileStage, effectOfChat } from './stages-chat.ts';
import { experienceMergeStage, factMergeStage } from './stages-merge.ts';
import { effectOfTask, factSummaryStage, taskExtractStage } from './stages-tasks.ts';

export const hyMemoryEnvironment: PythonEnvironment = {
  name: 'hy-memory',
  title: 'Hy-Memory: chat, working and coding memory',
  package: 'hy-memory',
  version: '2.0.6',
  minimumPython: [3, 11],
  belowPython: [3, 14],
  lock: 'bridges/hy-memory/requirements.lock',
  tiktoken: ['cl100k_base'],
  installedMegabytes: 740,
};

const base = {
  environment: hyMemoryEnvironment,
  script: 'bridges/hy-memory/bridge.py',
  heldOut: false,
  residentMegabytes: 200,
} as const;

export const hyMemoryChatSpec: BridgeSpec = {
  ...base,
  configuration: 'hy-memory:chat',
  settings: { scene: 'chat' },
  stages: [chatExtractStage, chatReconcileStage],
  requiredStages: [chatExtractStage.name],
  scenes: ['chat'],
  // Near duplicates of what is offered are put aside, near copies within one extraction left out; one profile row is
  // rewritten from basic_info.
  sideEffects: ['shadowed', 'near-copy', 'profile'],
  effectOf: effectOfChat,
};

export const hyMemoryWorkingSpec = taskSpec('working');
export const hyMemoryCodingSpec = taskSpec('coding');

function taskSpec(scene: 'working' | 'coding'): BridgeSpec {
  const extract = taskExtractStage(scene);
  return {
    ...base,
    configuration: `hy-memory:${scene}`,
    settings: { scene },
    stages: [extract, experienceMergeStage, factMergeStage, factSummaryStage],
    requiredStages: [extract.name],
    scenes: [scene],
    sideEffects: [],
    effectOf: effectOfTask,
  };
}
