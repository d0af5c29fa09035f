#!/usr/bin/env node
/** The command line: parses, runs one command, and turns what went wrong into one sentence and an exit code. */
import { Command, CommanderError } from 'commander';
import { registerData } from './data.ts';
import { registerDemo } from './demo.ts';
import { describeFailure } from './describe-failure.ts';
import { registerDoctor } from './doctor.ts';
import { registerEval } from './eval.ts';
import { EXIT } from './exit-codes.ts';
import { registerGateway } from './gateway.ts';
import { PACKAGE_VERSION } from './package-files.ts';
import { registerRuns } from './runs.ts';
import { registerConfig } from './show-config.ts';
import { registerTrain } from './train.ts';

const program = new Command('memwriter')
  .description(
    "Measures, trains and serves the model that writes an agent's long-term memory,\ninside real, unmodified memory frameworks.",
  )
  .version(PACKAGE_VERSION)
  .showHelpAfterError('(memwriter --help, or --help after a command)')
  .exitOverride();
registerDemo(program);
registerTrain(program);
registerEval(program);
registerRuns(program);
registerData(program);
registerGateway(program);
registerConfig(program);
registerDoctor(program);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.badInput;
  } else {
    const { exitCode, text } = describeFailure(error);
    process.stderr.write(`memwriter: ${text}\n`);
    process.exitCode = exitCode;
  }
}
