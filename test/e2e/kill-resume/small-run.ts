/** A small training run of real parts: Mem0, gateway, local engine, rule exam. Started as a process of its own, to be killed. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { attachItems } from '../../../src/artifact/attach.ts';
import { selectProbes } from '../../../src/artifact/select.ts';
import type { WindowArtifact } from '../../../src/core/exam.ts';
import { CHUNK_DEFAULTS } from '../../../src/data/chunks.ts';
import { windowsOfStream } from '../../../src/data/windows.ts';
import { createLocalEngine } from '../../../src/engine/local/engine.ts';
import { loadPolicy } from '../../../src/engine/local/policy-directory.ts';
import { createExamCache } from '../../../src/exam/cache.ts';
import { createRuleJudge } from '../../../src/exam/rule-judge.ts';
import { createRuleReader } from '../../../src/exam/rule-reader.ts';
import { createGateway } from '../../../src/gateway/gateway.ts';
import { createMem0Harness } from '../../../src/harness/adapters/mem0/adapter.ts';
import { createPool } from '../../../src/lib/pool.ts';
import { createHashEmbedder } from '../../../src/llm/hash-embedder.ts';
import { openRun } from '../../../src/store/run.ts';
import { loadPromptTemplate } from '../../../src/tokens/template.ts';
import { describeRun } from '../../../src/train/manifest.ts';
import { parseRlOptions } from '../../../src/train/options.ts';
import { trainRl } from '../../../src/train/rl.ts';
import { RunCompleteError } from '../../../src/train/trainer.ts';
import { createWorld } from '../../../src/world/world.ts';
import { createTinyPolicy } from './tiny-policy.ts';

const users = createWorld({ seed: 11, users: 2, sessionsPerUser: 2, turnsPerSession: 4 });

/** `small-run.ts prepare <root>` makes the start weights; `small-run.ts train <root> <name>` starts or resumes a run. */
const [command, root = '', name = ''] = process.argv.slice(2);
const startWeights = join(root, 'start');

if (command === 'prepare') {
  const texts = users.flatMap(({ sessions }) =>
    sessions.flatMap(({ messages }) => messages.map(({ text }) => text)),
  );
  await createTinyPolicy(startWeights, texts, 'kill-resume');
} else {
  await train();
}

async function train(): Promise<void> {
  const template = await loadPromptTemplate(startWeights);
  const countTokens = (text: string): number => template.tokenizer.count(text);
  const artifacts = users.flatMap((stream): readonly WindowArtifact[] => {
    const windows = windowsOfStream(stream, { ...CHUNK_DEFAULTS, countTokens });
    return selectProbes(attachItems(stream, windows).artifacts).artifacts;
  });
  const options = parseRlOptions({
    seed: 'kill',
    steps: 4,
    rowsPerStep: 2,
    configurations: ['mem0'],
    concurrency: 3,
    optimiser: { learningRate: 1e-3 },
    credit: { groupSize: 3 },
  });
  const scratch = join(root, 'work', name);
  await mkdir(scratch, { recursive: true });
  await using gateway = await createGateway({ embedder: createHashEmbedder({ dimensions: 64 }) });
  await using harness = await createMem0Harness({ maxIdleWorkers: 3 });
  const versions = { mem0: harness.version };
  const manifest = await describeRun({
    kind: 'rl',
    config: options,
    artifacts,
    startWeights,
    versions,
  });
  await using run = await openRun(join(root, 'runs', name), manifest);
  try {
    await trainRl(
      run,
      {
        artifacts,
        harnesses: new Map([['mem0', harness]]),
        gateway,
        startWeights,
        openEngine: async ({ directory, state }) => {
          const { model, config, language, trainer } = await loadPolicy(directory);
          const { config: llama, parameters } = model;
          const policy =
            state === 'fresh'
              ? { model: { config: llama, parameters }, config, language }
              : { model, config, language, ...(trainer && { trainer }) };
          return createLocalEngine(policy, { threads: 1, warn: () => undefined });
        },
        createWriter: (engine) => ({
          kind: 'render',
          engine,
          template,
          maxTokens: 48,
          temperature: 1,
        }),
        countTokens,
        workDirectory: scratch,
        onEvent: ({ type }) => process.stdout.write(`${type}\n`),
        now: () => new Date().toISOString(),
        examiners: {
          reader: createRuleReader(),
          judge: createRuleJudge(),
          cache: createExamCache(),
          pool: createPool(4),
        },
      },
      options,
    );
  } catch (cause) {
    // Killed after its last line: nothing is left to do.
    if (!(cause instanceof RunCompleteError)) throw cause;
  }
}
