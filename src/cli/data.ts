/** `memwriter data inspect|world`: what a file or the synthetic world holds, before anything is run on it. */
import type { Command } from 'commander';
import { attachItems } from '../artifact/attach.ts';
import type { Rejection } from '../artifact/rejection.ts';
import { selectProbes } from '../artifact/select.ts';
import type { UserStream } from '../core/annotation.ts';
import type { WindowArtifact } from '../core/exam.ts';
import { CHUNK_DEFAULTS } from '../data/chunks.ts';
import { detectSource, type SourceKind } from '../data/detect.ts';
import type { HygieneReport } from '../data/hygiene.ts';
import { readUserStreams, type Source } from '../data/jsonl.ts';
import { readLocomo } from '../data/locomo.ts';
import type { UnresolvedQuestion } from '../data/locomo-items.ts';
import { type DataSummary, summarise } from '../data/summary.ts';
import { windowsOfStream } from '../data/windows.ts';
import { loadTokenizer } from '../tokens/tokenizer.ts';
import { describeWorld } from '../world/describe.ts';
import { createWorldUser } from '../world/world.ts';
import { dataConfigSchema } from './config.ts';
import { loadConfig } from './config-file.ts';
import { worldOf } from './exam-source.ts';
import { BadInputError } from './exit-codes.ts';
import { flatten } from './flatten.ts';
import { SHIPPED_POLICIES } from './stack.ts';

interface InspectFlags {
  readonly tokenizer: string;
  readonly json?: boolean;
}

interface WorldFlags {
  readonly set?: readonly string[];
  readonly json?: boolean;
}

export function registerData(program: Command): void {
  const data = program.command('data').description('what a data set holds');
  data
    .command('inspect')
    .description('figures, hygiene and unusable questions of a JSONL or LoCoMo file')
    .argument(
      '<file>',
      'sessions as JSONL (docs/data.md) or the LoCoMo file; recognised by content',
    )
    .option(
      '--tokenizer <directory>',
      'whose tokens are counted: a Hugging Face directory',
      SHIPPED_POLICIES.base,
    )
    .option('--json', 'print one JSON object on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  memwriter data inspect sessions.jsonl\n  memwriter data inspect locomo10.json --json',
    )
    .action(inspect);
  data
    .command('world')
    .description('what the synthetic world of a preset is made of')
    .argument('[preset]', 'easy, demo or hard', 'demo')
    .option('--set <key=value...>', 'a field of the world, e.g. --set users=64')
    .option('--json', 'print one JSON object on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  memwriter data world hard\n  memwriter data world demo --set users=64 split=eval --json',
    )
    .action(describe);
}

interface Inspection {
  readonly kind: SourceKind;
  readonly summary: DataSummary;
  readonly hygiene: HygieneReport;
  readonly unresolved: readonly UnresolvedQuestion[];
  readonly unplaced: readonly Rejection[];
}

async function inspect(file: string, { tokenizer, json }: InspectFlags): Promise<void> {
  const { count } = await loadTokenizer(tokenizer);
  const inspection = await inspectFile(file, count);
  if (json === true) {
    const { kind, ...rest } = inspection;
    process.stdout.write(`${JSON.stringify({ file, kind, ...rest })}\n`);
    return;
  }
  process.stdout.write(`${inspectionText(file, inspection)}\n`);
}

async function inspectFile(
  file: string,
  countTokens: (text: string) => number,
): Promise<Inspection> {
  const kind = await detectSource(file);
  const source: Source & { readonly unresolved?: readonly UnresolvedQuestion[] } =
    kind === 'locomo' ? await readLocomo(file) : await readUserStreams(file);
  const { artifacts, unplaced } = place(source.streams, countTokens);
  return {
    kind,
    summary: summarise(source.streams, artifacts),
    hygiene: source.hygiene,
    unresolved: source.unresolved ?? [],
    unplaced,
  };
}

function place(
  streams: readonly UserStream[],
  countTokens: (text: string) => number,
): { artifacts: readonly WindowArtifact[]; unplaced: readonly Rejection[] } {
  const attached = streams.map((stream) =>
    attachItems(stream, windowsOfStream(stream, { ...CHUNK_DEFAULTS, countTokens })),
  );
  return {
    artifacts: attached.flatMap(({ artifacts }) => selectProbes(artifacts).artifacts),
    unplaced: attached.flatMap(({ unplaced }) => unplaced),
  };
}

const SHOWN_PROBLEMS = 5;

function inspectionText(
  file: string,
  { kind, summary, hygiene, unresolved, unplaced }: Inspection,
): string {
  const name = kind === 'locomo' ? 'LoCoMo' : 'sessions as JSONL';
  return [
    `${file}: ${name}`,
    ...aligned(flatten(summary)),
    ...section('hygiene', flatten(hygiene.counts)),
    ...hygiene.examples.map(({ kind, where, detail }) =>
      `    ${kind} at ${where} ${detail}`.trimEnd(),
    ),
    ...problems('questions without a usable citation', unresolved),
    ...problems('items that no chunk can be asked for', unplaced),
    ...(summary.recallProbes + summary.traps + summary.questions === 0
      ? ['  no probes or questions: nothing in this file can be scored']
      : []),
  ].join('\n');
}

function section(title: string, rows: readonly [string, string][]): string[] {
  const [first] = rows;
  if (first === undefined || first[0] === '') return [`  ${title}: nothing to report`];
  return [`  ${title}:`, ...aligned(rows).map((row) => `  ${row}`)];
}

function problems(
  title: string,
  found: readonly { readonly itemId: string; readonly reason: string; readonly detail: string }[],
): string[] {
  if (found.length === 0) return [];
  const shown = found.slice(0, SHOWN_PROBLEMS);
  const rest = found.length - shown.length;
  return [
    `  ${title}: ${found.length}`,
    ...shown.map(({ itemId, reason, detail }) => `    ${itemId}: ${reason} ${detail}`.trimEnd()),
    ...(rest > 0 ? [`    and ${rest} more (all with --json)`] : []),
  ];
}

function describe(preset: string, { set, json }: WorldFlags): void {
  const world = (set ?? []).map((assignment) => `world.${assignment}`);
  const data = loadConfig(dataConfigSchema, {
    set: world,
    defaults: { kind: 'world', preset },
    help: 'memwriter config eval',
  });
  if (data.kind !== 'world') throw new BadInputError(`${preset} is not a world`);
  const options = worldOf(data);
  const description = describeWorld(
    Array.from({ length: options.users }, (_, index) => createWorldUser(options, index)),
  );
  if (json === true) {
    process.stdout.write(`${JSON.stringify({ preset, options, ...description })}\n`);
    return;
  }
  const { users, sessions, ...rest } = description;
  const title = `world ${preset}: ${users} users, ${sessions} sessions of one chunk`;
  process.stdout.write(`${[title, ...aligned(flatten(rest))].join('\n')}\n`);
}

function aligned(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([key]) => key.length));
  return rows.map(([key, value]) => `  ${key.padEnd(width)}  ${rounded(value)}`);
}

function rounded(value: string): string {
  return /^\d+\.\d{4,}$/.test(value) ? Number(value).toFixed(3) : value;
}
