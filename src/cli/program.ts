/** All commands in one program: parses, runs one, and turns what went wrong into one sentence and an exit code. */
import { Command, CommanderError } from 'commander';
import { registerData } from './data.ts';
import { registerDemo } from './demo.ts';
import { describeFailure } from './describe-failure.ts';
import { registerDoctor } from './doctor.ts';
import { registerEval } from './eval.ts';
import { EXIT } from './exit-codes.ts';
import { registerGateway } from './gateway.ts';
import { registerHarness } from './harness.ts';
import { PACKAGE_VERSION } from './package-files.ts';
import { registerRuns } from './runs.ts';
import { registerConfig } from './show-config.ts';
import { registerTrain } from './train.ts';

/** Sets `process.exitCode`; never rejects. `argv` without the interpreter and the script. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.badInput;
      return;
    }
    const { exitCode, text } = describeFailure(error);
    process.stderr.write(`memwriter: ${text}\n`);
    process.exitCode = exitCode;
  }
}

function createProgram(): Command {
  const program = new Command('memwriter')
    .description(
      "Measures and trains the model that writes an agent's long-term memory,\ninside real, unmodified memory frameworks.",
    )
    .version(PACKAGE_VERSION)
    .showHelpAfterError('(memwriter --help, or --help after a command)')
    .exitOverride()
    .addHelpText(
      'after',
      `
Exit codes: 0 done, 1 failed, 2 bad input, 3 something is not installed (memwriter doctor), 130 interrupted.

Examples:
  memwriter doctor
  memwriter demo
  memwriter eval --writer base=models/base --locomo locomo10.json --conversation 0`,
    );
  registerDemo(program);
  registerTrain(program);
  registerEval(program);
  registerRuns(program);
  registerData(program);
  registerHarness(program);
  registerGateway(program);
  registerConfig(program);
  registerDoctor(program);
  return program;
}
