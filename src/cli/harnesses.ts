/** Every configuration by name: the framework inside it, its environment where it has one, and how it is made. */
import { everosSpec } from '../harness/adapters/everos/adapter.ts';
import {
  hyMemoryChatSpec,
  hyMemoryCodingSpec,
  hyMemoryWorkingSpec,
} from '../harness/adapters/hy-memory/adapter.ts';
import { createMem0Harness } from '../harness/adapters/mem0/adapter.ts';
import { mem0Spec1x, mem0Spec2x } from '../harness/adapters/mem0-python/adapter.ts';
import { memosSimpleSpec, memosSpec, memosTreeSpec } from '../harness/adapters/memos/adapter.ts';
import type { BridgeSpec, PythonEnvironment } from '../harness/bridge/contract.ts';
import { createBridgeHarness } from '../harness/bridge/harness.ts';
import type { BridgePool } from '../harness/bridge/pool.ts';
import type { Harness } from '../harness/contract.ts';
import {
  cacheDirectory,
  environmentDirectory,
  interpreterOf,
  readInstalled,
} from '../harness/install/environment.ts';
import { BadInputError, MissingRequirementError } from './exit-codes.ts';

export const BRIDGE_SPECS: readonly BridgeSpec[] = [
  hyMemoryChatSpec,
  hyMemoryWorkingSpec,
  hyMemoryCodingSpec,
  memosSpec,
  memosSimpleSpec,
  memosTreeSpec,
  mem0Spec1x,
  mem0Spec2x,
  everosSpec,
];

export const CONFIGURATIONS: readonly string[] = [
  'mem0',
  ...BRIDGE_SPECS.map(({ configuration }) => configuration),
];

/** One of each name, in the order of the configurations. */
export const ENVIRONMENTS: readonly PythonEnvironment[] = [
  ...new Map(BRIDGE_SPECS.map(({ environment }) => [environment.name, environment])).values(),
];

export interface HarnessOptions {
  /** Memories in a retrieved block. */
  readonly topK: number;
  /** One memory budget for the bridges of all harnesses. */
  readonly pool: BridgePool;
}

/** Rejects with `MissingRequirementError` where the framework is not installed. */
export async function openHarness(
  configuration: string,
  { topK, pool }: HarnessOptions,
): Promise<Harness> {
  if (configuration === 'mem0') return await createMem0Harness({ topK });
  const spec = BRIDGE_SPECS.find((candidate) => candidate.configuration === configuration);
  if (spec === undefined) {
    throw new BadInputError(
      `no configuration "${configuration}"; there are ${CONFIGURATIONS.join(', ')}`,
    );
  }
  const directory = await environmentDirectory(spec.environment, harnessCache());
  if ((await readInstalled(directory)) === undefined) {
    throw new MissingRequirementError(
      `${configuration} is not installed: memwriter harness add ${spec.environment.name}`,
    );
  }
  const interpreter = interpreterOf(directory);
  return createBridgeHarness(spec, { interpreter, environmentDirectory: directory, pool, topK });
}

export function harnessCache(): string {
  const { MEMWRITER_HOME: home, XDG_CACHE_HOME: userCache } = process.env;
  return cacheDirectory({ home, userCache });
}
