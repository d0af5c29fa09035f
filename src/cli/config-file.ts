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
  /** The command that prints every key. */
  readonly help: string;
}

type Tree = { [key: string]: unknown };

export function loadConfig<S extends z.ZodType>(schema: S, source: ConfigSource): z.output<S> {
  const tree: Tree = {
    ...structuredClone(source.defaults),
    ...(source.file === undefined ? {} : readTree(source.file)),
  };
  for (const assignment of source.set ?? []) assign(tree, assignment);
  const where = source.file ?? 'the options';
  return parseInput(schema, tree, { where, advice: `Every key and its default: ${source.help}` });
}

/** What a person gave, checked; a mistake is one sentence with `where` and the key. */
export function parseInput<S extends z.ZodType>(
  schema: S,
  value: unknown,
  { where, advice }: { readonly where: string; readonly advice?: string },
): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = `${where}: ${describeIssues(parsed.error)}`;
  throw new BadInputError(advice === undefined ? problem : `${problem}. ${advice}`);
}

export function describeIssues(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => {
      const key = z.core.toDotPath(path);
      return key === '' ? message : `${key}: ${message}`;
    })
    .join('; ');
}

function readTree(file: string): Tree {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new BadInputError(`cannot read the configuration ${file}: ${reason(cause)}`, { cause });
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

function reason(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a directory';
  return cause instanceof Error ? cause.message : String(cause);
}
