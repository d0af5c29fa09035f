/** `memwriter config`: every configuration key with its default, or the JSON schema that a file must satisfy. */
import { Argument, type Command } from 'commander';
import { z } from 'zod';
import { opdConfigSchema, rlConfigSchema } from './config.ts';
import { EVAL_DEFAULTS, evalConfigSchema } from './eval-config.ts';
import { flatten } from './flatten.ts';
import { TRAIN_DEFAULTS } from './train.ts';

const CONFIGURATIONS = {
  eval: { schema: evalConfigSchema, defaults: EVAL_DEFAULTS },
  opd: { schema: opdConfigSchema, defaults: TRAIN_DEFAULTS.opd },
  rl: { schema: rlConfigSchema, defaults: TRAIN_DEFAULTS.rl },
};

type Name = keyof typeof CONFIGURATIONS;
const NAMES = ['eval', 'opd', 'rl'] as const satisfies readonly Name[];

export function registerConfig(program: Command): void {
  program
    .command('config')
    .description('every configuration key with its default')
    .addArgument(new Argument('[of]', 'which configuration').choices(NAMES).default('eval'))
    .option('--schema', 'print the JSON schema instead of the defaults')
    .option('--keys', 'print one key=value a line, in the spelling of --set')
    .addHelpText(
      'after',
      `
Examples:
  memwriter config rl > rl.json
  memwriter train rl --config rl.json --set train.steps=20
  memwriter config opd --keys
  memwriter config eval --schema > eval.schema.json`,
    )
    .action(showConfig);
}

function showConfig(
  name: Name,
  flags: { readonly schema?: boolean; readonly keys?: boolean },
): void {
  const { schema, defaults } = CONFIGURATIONS[name];
  if (flags.schema === true) {
    process.stdout.write(`${JSON.stringify(z.toJSONSchema(schema, { io: 'input' }), null, 2)}\n`);
    return;
  }
  const values: unknown = schema.parse(defaults);
  const text =
    flags.keys === true
      ? flatten(values)
          .map(([key, value]) => `${key}=${value}`)
          .join('\n')
      : JSON.stringify(values, null, 2);
  process.stdout.write(`${text}\n`);
}
