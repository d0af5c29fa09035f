#!/usr/bin/env node
/** What `memwriter` runs. */
import { runCommandLine } from './program.ts';

await runCommandLine(process.argv.slice(2));
