/** What a live test needs of an installed framework; without it the test skips, and says so. */
import { harnessCache } from '../../../src/cli/harnesses.ts';
import type { PythonEnvironment } from '../../../src/harness/bridge/contract.ts';
import type { BridgeRuntime } from '../../../src/harness/bridge/process.ts';
import {
  environmentDirectory,
  interpreterOf,
  readInstalled,
} from '../../../src/harness/install/environment.ts';

export async function installedRuntime(
  environment: PythonEnvironment,
): Promise<BridgeRuntime | undefined> {
  const directory = await environmentDirectory(environment, harnessCache());
  if ((await readInstalled(directory)) === undefined) {
    process.stderr.write(`${environment.name} is not installed: its live tests are skipped\n`);
    return undefined;
  }
  return { interpreter: interpreterOf(directory), environmentDirectory: directory };
}
