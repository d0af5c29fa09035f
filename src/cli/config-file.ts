/** Configuration: a JSON file, then `--set a.b=c`, then the schema's defaults; every mistake names its key. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { BadInputError } from './exit-codes.ts';

export interface ConfigSource {
  /** Path of a JSON file. */
  readonly file?: string | undefined;
  /** Each `a.b=c`; the value is JSON where it parses as JSON, else text. */
  readonly set?: readonly string[] | undefined;
  /** Top-level values that `--set` finds where the file has none. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

type Tree = { [key: string]: unknown };

export function loadConfig<S extends z.ZodType>(schema: S, source: ConfigSource): z.output<S> {
  const tree: Tree = {
    ...structuredClone(source.defaults),
    ...(source.file === undefined ? {} : readTree(source.file)),
  };
  for (const assignment of source.set ?? []) assign(tree, assignment);
  const parsed = schema.safeParse(tree);
  if (parsed.success) return parsed.data;
  const where = source.file ?? 'the options';
  const issues = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || '(top level)'}: ${issue.message}`,
  );
  throw new BadInputError(
    `${where}: ${issues.join('; ')}. Every key and its default: memwriter config --help`,
  );
}

function readTree(file: string): Tree {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new BadInputError(`cannot read the configuration ${file}: ${String(cause)}`, { cause });
  }
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof SyntaxError ? cause.message : 'it must hold one JSON object';
    throw new BadInputError(`${file} is not a configuration: ${why}`, { cause });
  }
}

function assign(tree: Tree, assignment: string): void {
  const at = assignment.indexOf('=');
  if (at <= 0) throw new BadInputError(`--set takes key=value, not ${JSON.stringify(assignment)}`);
  const path = assignment.slice(0, at).split('.');
  const last = path.pop();
  if (last === undefined || last === '' || path.includes(''))
    throw new BadInputError(`--set ${assignment}: empty key`);
  let node = tree;
  for (const key of path) {
    const child = z.record(z.string(), z.unknown()).safeParse(node[key] ?? {});
    if (!child.success) throw new BadInputError(`--set ${assignment}: ${key} is not an object`);
    node[key] = child.data;
    node = child.data;
  }
  node[last] = parseValue(assignment.slice(at + 1));
}

/** JSON where it is JSON, else the text itself: `--set rl.lr=0.001`, `--set policy=models/base`. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return text;
    throw cause;
  }
}
