#!/usr/bin/env node
/** The command line: parses, runs one command, and turns what went wrong into one sentence and an exit code. */
import { CommanderError, program } from 'commander';
import { describeFailure } from './describe-failure.ts';
import { EXIT } from './exit-codes.ts';
import { PACKAGE_VERSION } from './package-version.ts';

program
  .name('memwriter')
  .description(
    "Measures, trains and serves the model that writes an agent's long-term memory, inside real, unmodified memory frameworks.",
  )
  .version(PACKAGE_VERSION)
  .showHelpAfterError('(try --help)')
  .exitOverride();
