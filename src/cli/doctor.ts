/** `memwriter doctor`: can this machine run the main job, and if not, what to do about it; one line a part. */
import { access, constants, mkdtemp, readFile, rm, statfs } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { loadPolicy } from '../engine/local/policy-directory.ts';
import { createGateway } from '../gateway/gateway.ts';
import { createMem0Harness } from '../harness/adapters/mem0/adapter.ts';
import { createHashEmbedder } from '../llm/hash-embedder.ts';
import { loadTokenizer } from '../tokens/tokenizer.ts';
import { EXIT } from './exit-codes.ts';
import { PINNED } from './package-files.ts';
import { scratchDirectory } from './scratch-directory.ts';
import { SHIPPED_POLICIES } from './stack.ts';

interface Check {
  readonly name: string;
  /** Rejects, with the reason, where the part is missing; resolves to what was found. */
  readonly run: () => Promise<string>;
  readonly remedy: string;
}

interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do; only where it is not ok. */
  readonly remedy?: string;
}

const REINSTALL = 'reinstall memwriter with its dependencies: npm install';
const CHECKS: readonly Check[] = [
  { name: 'node', run: checkNode, remedy: 'install Node 20.19 or newer' },
  {
    name: 'onnxruntime-node',
    run: checkOnnxRuntime,
    remedy: `ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node@${PINNED['onnxruntime-node']} (skip: no GPU build is downloaded, as behind closed networks); without it the local engine runs about 30 times slower`,
  },
  {
    name: 'better-sqlite3',
    run: checkSqlite,
    remedy:
      'npm rebuild better-sqlite3 (it downloads a binary, or compiles one: a C++ compiler, make and Python)',
  },
  { name: 'mem0ai', run: checkMem0Version, remedy: REINSTALL },
  { name: 'loopback', run: checkLoopback, remedy: 'allow this process to listen on 127.0.0.1' },
  {
    name: 'mem0 bank',
    run: checkBank,
    remedy: 'mend the lines above first; then report this one',
  },
  {
    name: 'policies',
    run: checkPolicies,
    remedy: `${REINSTALL}; models/base and models/teacher ship with it`,
  },
  {
    name: 'tokenizers',
    run: checkTokenizers,
    remedy: `${REINSTALL}; base and teacher must read the same tokens`,
  },
  {
    name: 'scratch',
    run: checkScratch,
    remedy: 'set MEMWRITER_SCRATCH to a directory that may be written and has 512 MB free',
  },
];

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check that this machine has what memwriter needs')
    .option('--json', 'print one JSON object on standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  memwriter doctor\n  memwriter doctor --json\n\nPython frameworks are optional: memwriter harness doctor',
    )
    .action(runDoctor);
}

async function runDoctor({ json }: { readonly json?: boolean }): Promise<void> {
  const findings: Finding[] = [];
  for (const check of CHECKS) {
    const finding = await find(check);
    findings.push(finding);
    if (json !== true) process.stdout.write(`${lineOf(finding)}\n`);
  }
  const ok = findings.every((finding) => finding.ok);
  if (json === true) process.stdout.write(`${JSON.stringify({ ok, checks: findings })}\n`);
  if (!ok) process.exitCode = EXIT.missing;
}

/** Here any failure is what was asked for. */
async function find({ name, run, remedy }: Check): Promise<Finding> {
  try {
    return { name, ok: true, detail: await run() };
  } catch (cause) {
    const [firstLine] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
    return { name, ok: false, detail: firstLine ?? 'failed', remedy };
  }
}

function lineOf({ name, ok, detail, remedy }: Finding): string {
  const line = `${ok ? 'ok     ' : 'MISSING'} ${name.padEnd(16)} ${detail}`;
  return remedy === undefined ? line : `${line}\n        ${remedy}`;
}

const LEAST_NODE = [20, 19];

async function checkNode(): Promise<string> {
  const { version, platform, arch } = process;
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = LEAST_NODE;
  if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
    throw new Error(`this is Node ${version}`);
  }
  return `${version}, ${platform} ${arch}`;
}

async function checkOnnxRuntime(): Promise<string> {
  const ort = await import('onnxruntime-node');
  const tensor = new ort.Tensor('float32', Float32Array.of(1), [1]);
  if (tensor.size !== 1) throw new Error('it gives no tensor');
  return await installedVersion('onnxruntime-node');
}

async function checkSqlite(): Promise<string> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(':memory:');
  try {
    return `SQLite ${String(database.prepare('SELECT sqlite_version()').pluck().get())}`;
  } finally {
    database.close();
  }
}

async function checkMem0Version(): Promise<string> {
  const pinned = PINNED['mem0ai'];
  const installed = await installedVersion('mem0ai');
  if (installed !== pinned) throw new Error(`${installed} is installed, ${pinned} is needed`);
  return installed;
}

async function checkLoopback(): Promise<string> {
  await using gateway = await createGateway({ embedder: createHashEmbedder() });
  const { status } = await fetch(`${gateway.baseUrl}/s/none/v1/models`);
  return `${gateway.baseUrl} answers (${status})`;
}

/** Thread, SDK, SQLite and gateway together, as every evaluation uses them; no model is called. */
async function checkBank(): Promise<string> {
  const dir = await mkdtemp(join(await scratchDirectory(), 'memwriter-doctor-'));
  try {
    await using gateway = await createGateway({ embedder: createHashEmbedder() });
    await using harness = await createMem0Harness({ maxIdleWorkers: 0 });
    const { model, embeddings } = gateway.openSlot({
      writer: { kind: 'scripted', reply: () => '{"memory":[]}' },
      stages: harness.stages,
      seed: 'doctor',
    });
    const now = '2024-01-01T00:00:00Z';
    await using bank = await harness.open({ dir: join(dir, 'bank'), model, embeddings, now });
    const memories = await bank.list();
    if (memories.length > 0) throw new Error('a new bank is not empty');
    return `a new bank of ${harness.version} opens and lists`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function checkPolicies(): Promise<string> {
  const sizes: string[] = [];
  for (const [name, directory] of Object.entries(SHIPPED_POLICIES)) {
    const { model } = await loadPolicy(directory);
    sizes.push(`${name} ${(model.parameters.flat.length / 1e6).toFixed(2)} M parameters`);
  }
  return sizes.join(', ');
}

async function checkTokenizers(): Promise<string> {
  const base = await loadTokenizer(SHIPPED_POLICIES.base);
  const teacher = await loadTokenizer(SHIPPED_POLICIES.teacher);
  if (base.hash !== teacher.hash) throw new Error('base and teacher have different tokenizers');
  return `base and teacher share ${base.vocabularySize} tokens`;
}

const LEAST_FREE_BYTES = 512 * 2 ** 20;

async function checkScratch(): Promise<string> {
  const directory = await scratchDirectory();
  await access(directory, constants.W_OK);
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  const text = `${directory}, ${(free / 2 ** 30).toFixed(1)} GB free`;
  if (free < LEAST_FREE_BYTES) throw new Error(text);
  return text;
}

const manifestSchema = z.looseObject({ version: z.string() });

/** Read from the folder itself: a package's `exports` may hide its package.json. */
async function installedVersion(name: string): Promise<string> {
  const resolve = createRequire(import.meta.url).resolve;
  const paths = resolve.paths(name) ?? [];
  for (const path of paths) {
    const manifest = await readPackage(join(path, name)).catch((cause: unknown) => {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
      throw cause;
    });
    if (manifest !== undefined) return manifestSchema.parse(manifest).version;
  }
  throw new Error('it is not installed');
}

async function readPackage(directory: string): Promise<unknown> {
  return JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
}
