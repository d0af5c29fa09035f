/** Before the live tests: the frameworks they run against, by the command that users type. */
import { spawnSync } from 'node:child_process';
import { EXIT } from '../../../src/cli/exit-codes.ts';

/** What this machine cannot have (no Python of its version, say) is named here, and its tests skip themselves. */
export function setup(): void {
  const command = ['--import', 'tsx', 'src/cli/main.ts', 'harness', 'add', 'all'];
  const { status, error } = spawnSync(process.execPath, command, {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (error !== undefined) throw error;
  if (status !== EXIT.ok && status !== EXIT.missing) {
    throw new Error(`memwriter harness add all ended with code ${status}`);
  }
}
