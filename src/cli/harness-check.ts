/** `memwriter harness check`: every obligation of the contract against the live framework, as a certificate. */
import { rm } from 'node:fs/promises';
import Table from 'cli-table3';
import type { Command } from 'commander';
import { type Certificate, isViolated } from '../conformance/certificate.ts';
import { checkHarness } from '../conformance/check.ts';
import { createGateway } from '../gateway/gateway.ts';
import { BridgePool } from '../harness/bridge/pool.ts';
import { createHashEmbedder } from '../llm/hash-embedder.ts';
import { BadInputError, EXIT } from './exit-codes.ts';
import { openHarness } from './harnesses.ts';
import { catchInterrupt } from './interrupt.ts';
import { type Progress, startProgress } from './progress.ts';
import { newScratchDirectory } from './scratch-directory.ts';

interface Flags {
  readonly json?: boolean;
  readonly markdown?: boolean;
  readonly memories: string;
}

export function registerHarnessCheck(harness: Command): void {
  harness
    .command('check <configuration>')
    .description('try every obligation of the contract and every failure on the live framework')
    .option('--memories <count>', 'memories of the largest bank that is listed', '1000')
    .option('--json', 'print the certificate as one JSON object on standard output')
    .option('--markdown', 'print it as tables for a page')
    .addHelpText(
      'after',
      `
Exit code 1: an obligation is violated.

Examples:
  memwriter harness check mem0
  memwriter harness check hy-memory:working --memories 101`,
    )
    .action(runCheck);
}

async function runCheck(configuration: string, flags: Flags): Promise<void> {
  const memories = Number(flags.memories);
  if (!Number.isInteger(memories) || memories < 0) {
    throw new BadInputError(`--memories wants a whole number, not ${flags.memories}`);
  }
  using interrupt = catchInterrupt('a check starts anew: run the same command again');
  const certificate = await certify(configuration, memories, interrupt.signal);
  process.stdout.write(render(certificate, flags));
  if (isViolated(certificate)) process.exitCode = EXIT.failed;
}

async function certify(
  configuration: string,
  memories: number,
  signal: AbortSignal,
): Promise<Certificate> {
  await using pool = new BridgePool();
  await using harness = await openHarness(configuration, { topK: 5, pool });
  // What goes wrong is tried on purpose: nothing of it is to be tried again.
  const retry = { attempts: 1, baseDelayMs: 1, maxDelayMs: 1, maxRetryAfterMs: 1 };
  await using gateway = await createGateway({ embedder: createHashEmbedder(), retry });
  const root = await newScratchDirectory('check');
  let progress: Progress | undefined;
  try {
    return await checkHarness({
      harness,
      gateway,
      root,
      memories,
      signal,
      onProgress: (done, total) => {
        progress ??= startProgress({ label: configuration, total });
        progress.update(done);
      },
    });
  } finally {
    progress?.stop();
    await rm(root, { recursive: true, force: true });
  }
}

function render(certificate: Certificate, { json, markdown }: Flags): string {
  if (json === true) return `${JSON.stringify(certificate)}\n`;
  return markdown === true ? renderMarkdown(certificate) : renderText(certificate);
}

function renderText({ harness, version, obligations, faultCells }: Certificate): string {
  const style = { head: [], border: [] };
  const promises = new Table({ head: ['obligation', '', 'seen'], style, wordWrap: true });
  promises.push(...obligations.map(({ name, status, detail }) => [name, status, detail]));
  const cells = new Table({
    head: ['stage', 'injected', 'framework said', 'store shows', 'concluded'],
    style,
  });
  cells.push(...faultCells.map((cell) => [...cellTexts(cell)]));
  return `${harness} (${version})\n${promises}\n${cells}\n`;
}

function renderMarkdown({ harness, version, obligations, faultCells }: Certificate): string {
  const row = (texts: readonly string[]): string =>
    `| ${texts.map((one) => one.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [
    `### ${harness} (${version})`,
    '',
    row(['obligation', 'status', 'seen']),
    '|---|---|---|',
    ...obligations.map(({ name, status, detail }) => row([name, status, detail])),
    '',
    row(['stage', 'injected', 'framework said', 'store shows', 'concluded']),
    '|---|---|---|---|---|',
    ...faultCells.map((cell) => row(cellTexts(cell))),
    '',
  ].join('\n');
}

function cellTexts(cell: Certificate['faultCells'][number]): readonly string[] {
  const { stage, injected, frameworkSaid, storeShows, concluded } = cell;
  return [stage, injected, frameworkSaid.slice(0, 60), storeShows, concluded];
}
