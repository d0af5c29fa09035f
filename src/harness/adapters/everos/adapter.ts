/** EverOS as the held-out harness: evaluated, never trained on unless told twice. */
import type { BridgeSpec, PythonEnvironment } from '../../bridge/contract.ts';
import { boundaryStage, episodeStage, factsStage } from './stages.ts';
import { profileCompactStage, profileStage } from './stages-profile.ts';

export const everosEnvironment: PythonEnvironment = {
  name: 'everos',
  title: 'EverOS: episodes, facts and a profile',
  package: 'everos',
  version: '1.5.1',
  minimumPython: [3, 12],
  belowPython: [3, 14],
  lock: 'bridges/everos/requirements.lock',
  tiktoken: ['o200k_base'],
  installedMegabytes: 570,
};

export const everosSpec: BridgeSpec = {
  configuration: 'everos',
  environment: everosEnvironment,
  script: 'bridges/everos/bridge.py',
  settings: {},
  stages: [boundaryStage, episodeStage, factsStage, profileStage, profileCompactStage],
  requiredStages: [boundaryStage.name, episodeStage.name],
  heldOut: true,
  scenes: ['chat', 'working', 'coding'],
  sideEffects: [],
  residentMegabytes: 450,
};
