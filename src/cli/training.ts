/** One training run from a configuration: opens policy and teacher, starts or resumes the run, shows its steps. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import type { PolicyEngine } from '../engine/contract.ts';
import { createLocalEngine, createLocalTeacher } from '../engine/local/engine.ts';
import type { LocalPolicy } from '../engine/local/policy-directory.ts';
import type { Writer } from '../gateway/contract.ts';
import { openRun } from '../store/run.ts';
import { loadPromptTemplate } from '../tokens/template.ts';
import { loadTokenizer } from '../tokens/tokenizer.ts';
import { describeRun } from '../train/manifest.ts';
import { trainOpd } from '../train/opd.ts';
import type { EngineStart, TrainEnd, TrainEvent, TrainParts } from '../train/parts.ts';
import { trainRl } from '../train/rl.ts';
import type { OpdConfig, RlConfig, SamplingConfig } from './config.ts';
import { leftOutText, loadUserExams } from './exam-source.ts';
import { openPolicy } from './open-policy.ts';
import { PACKAGE_VERSION } from './package-files.ts';
import { type Progress, startProgress } from './progress.ts';
import { SHIPPED_POLICIES, type Stack } from './stack.ts';
import { showTrainEvent } from './train-progress.ts';
import { warnOnce } from './writers.ts';

const packageSchema = z.object({ version: z.string() });

export interface TrainingRequest<C> {
  readonly stack: Stack;
  readonly config: C;
  readonly directory: string;
  readonly quiet: boolean;
  readonly signal?: AbortSignal;
}

export async function runOpd(request: TrainingRequest<OpdConfig>): Promise<TrainEnd> {
  const { stack, config, directory, quiet } = request;
  const teacherDirectory = config.teacher ?? SHIPPED_POLICIES.teacher;
  const parts = await trainParts(request, 'opd');
  await using run = await openRun(
    directory,
    await describeRun({
      kind: 'opd',
      config: {
        ...config.train,
        data: config.data,
        stack: config.stack,
        sampling: config.sampling,
      },
      artifacts: parts.artifacts,
      startWeights: parts.startWeights,
      teacherWeights: teacherDirectory,
      versions: versionsOf(stack),
    }),
  );
  await using teacher = createLocalTeacher(
    await openPolicy(teacherDirectory, config.sampling),
    engineOptions(stack),
  );
  const student = await loadTokenizer(parts.startWeights);
  const tokenizerHashes = {
    student: student.hash,
    teacher: (await loadTokenizer(teacherDirectory)).hash,
  };
  const steps = showSteps('distil', config.train.steps, quiet);
  try {
    return await trainOpd(run, { ...parts, ...steps, teacher, tokenizerHashes }, config.train);
  } finally {
    steps.progress.stop();
  }
}

export async function runRl(request: TrainingRequest<RlConfig>): Promise<TrainEnd> {
  const { stack, config, directory, quiet } = request;
  const parts = await trainParts(request, 'rl');
  await using run = await openRun(
    directory,
    await describeRun({
      kind: 'rl',
      config: {
        ...config.train,
        data: config.data,
        stack: config.stack,
        sampling: config.sampling,
      },
      artifacts: parts.artifacts,
      startWeights: parts.startWeights,
      versions: versionsOf(stack),
    }),
  );
  const steps = showSteps('reinforce', config.train.steps, quiet);
  try {
    return await trainRl(run, { ...parts, ...steps, examiners: stack.examiners }, config.train);
  } finally {
    steps.progress.stop();
  }
}

async function trainParts(
  { stack, config, signal }: TrainingRequest<OpdConfig | RlConfig>,
  kind: string,
): Promise<Omit<TrainParts, 'onEvent'>> {
  const { users, counts } = await loadUserExams(config.data, stack.countTokens);
  const leftOut = leftOutText(counts);
  if (leftOut !== undefined) process.stderr.write(`${leftOut}\n`);
  const startWeights = config.policy ?? SHIPPED_POLICIES.base;
  const template = await loadPromptTemplate(startWeights);
  return {
    artifacts: users.flatMap(({ artifacts }) => artifacts),
    harnesses: stack.harnesses,
    gateway: stack.gateway,
    startWeights,
    openEngine: (start) => openEngine(start, stack, config.sampling),
    createWriter: (engine) => renderWriter(engine, template, config.sampling),
    countTokens: stack.countTokens,
    workDirectory: join(stack.scratch, kind),
    now: () => new Date().toISOString(),
    ...(signal && { signal }),
  };
}

function renderWriter(
  engine: PolicyEngine,
  template: Awaited<ReturnType<typeof loadPromptTemplate>>,
  { temperature, maxTokens }: SamplingConfig,
): Writer {
  return { kind: 'render', engine, template, temperature, maxTokens };
}

async function openEngine(
  { directory, state }: EngineStart,
  stack: Stack,
  sampling: SamplingConfig,
): Promise<PolicyEngine> {
  const policy = await openPolicy(directory, sampling);
  return createLocalEngine(state === 'fresh' ? fresh(policy) : policy, engineOptions(stack));
}

/** A start takes weights only: the moments and the version of an earlier training are not its own. */
function fresh({ model, config, language }: LocalPolicy): LocalPolicy {
  return { model: { config: model.config, parameters: model.parameters }, config, language };
}

function engineOptions({ config }: Stack): Parameters<typeof createLocalEngine>[1] {
  return { threads: config.threads, warn: warnOnce };
}

function versionsOf({ harnesses, tokenizerHash }: Stack): Record<string, string> {
  return {
    memwriter: PACKAGE_VERSION,
    ...Object.fromEntries([...harnesses].map(([name, { version }]) => [name, version])),
    'onnxruntime-node': runtimeVersion(),
    tokenizer: tokenizerHash,
  };
}

/** The package is optional; numbers of the plain executor differ in their last bits, so a resume must not mix the two. */
function runtimeVersion(): string {
  const require = createRequire(import.meta.url);
  try {
    return packageSchema.parse(require('onnxruntime-node/package.json')).version;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'MODULE_NOT_FOUND') {
      return 'absent: plain TypeScript';
    }
    throw cause;
  }
}

function showSteps(
  label: string,
  total: number,
  quiet: boolean,
): { readonly progress: Progress; readonly onEvent: (event: TrainEvent) => void } {
  const progress = startProgress({ label, total, quiet });
  return { progress, onEvent: (event) => showTrainEvent(event, progress) };
}
