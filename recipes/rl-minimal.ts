/**
 * Memory RL in one flat file: a writer learns inside the real Mem0, chunk by chunk.
 *
 *   npx tsx recipes/rl-minimal.ts [policy directory] [steps]
 *
 * What `memwriter train rl` adds to this: a run directory that survives kills, fault budgets and retries, tripwires,
 * the parent chain over all windows of a user, several configurations, and every option that is a constant here.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { attachItems } from '../src/artifact/attach.ts';
import { selectProbes } from '../src/artifact/select.ts';
import { diffListings } from '../src/core/bank.ts';
import type { WindowArtifact } from '../src/core/exam.ts';
import type { ChunkWrite, Rollout } from '../src/core/trace.ts';
import { creditGroup } from '../src/credit/advantages.ts';
import { creditOptionsSchema } from '../src/credit/options.ts';
import { toSamples } from '../src/credit/samples.ts';
import { CHUNK_DEFAULTS } from '../src/data/chunks.ts';
import { windowsOfStream } from '../src/data/windows.ts';
import { createLocalEngine } from '../src/engine/local/engine.ts';
import { loadPolicy } from '../src/engine/local/policy-directory.ts';
import { createExamCache } from '../src/exam/cache.ts';
import { createRuleJudge } from '../src/exam/rule-judge.ts';
import { createRuleReader } from '../src/exam/rule-reader.ts';
import { sitExam } from '../src/exam/sit.ts';
import type { Writer } from '../src/gateway/contract.ts';
import { createGateway } from '../src/gateway/gateway.ts';
import { createMem0Harness } from '../src/harness/adapters/mem0/adapter.ts';
import { forkBank } from '../src/harness/fork.ts';
import { scratchParent } from '../src/harness/scratch.ts';
import { createPool } from '../src/lib/pool.ts';
import { createHashEmbedder } from '../src/llm/hash-embedder.ts';
import { rewardOptionsSchema } from '../src/reward/options.ts';
import { scoreGroup } from '../src/reward/score-rollout.ts';
import { loadPromptTemplate } from '../src/tokens/template.ts';
import { createWorld } from '../src/world/world.ts';

const [policyDirectory = 'models/base', stepsArgument = '20'] = process.argv.slice(2);
const STEPS = Number(stepsArgument);
const SEED = 7;
const GROUP_SIZE = 8;
const WINDOWS_PER_STEP = 2;
const REWARD = rewardOptionsSchema.parse({});
const CREDIT = creditOptionsSchema.parse({ groupSize: GROUP_SIZE });
const LOSS = { clipLow: 0.2, clipHigh: 0.2, klArm: 'tail', entropyBonus: 0 } as const;
const OPTIMISER = {
  learningRate: 3e-4,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
};

// The writer under training, and everything that stands still around it: framework, gateway, reader, judge.
const template = await loadPromptTemplate(policyDirectory);
await using engine = createLocalEngine(await loadPolicy(policyDirectory), {
  threads: 2,
  warn: console.error,
});
const writer: Writer = { kind: 'render', engine, template, maxTokens: 200, temperature: 1 };
await using gateway = await createGateway({ embedder: createHashEmbedder({ dimensions: 256 }) });
await using harness = await createMem0Harness();
const examiners = {
  reader: createRuleReader(),
  judge: createRuleJudge(),
  cache: createExamCache(),
  pool: createPool(8),
};
const scratch = await mkdtemp(join(await scratchParent(), 'memwriter-minimal-'));

// The data: users of a synthetic world, their sessions cut into chunks and windows, and what each bank will be asked.
const countTokens = (text: string): number => template.tokenizer.count(text);
// Ten sessions are two windows: the second one starts from the bank that the first one left.
const users = createWorld({
  seed: SEED,
  users: Math.ceil((STEPS * WINDOWS_PER_STEP) / 2),
  sessionsPerUser: 10,
});
const artifacts = users.flatMap((stream): readonly WindowArtifact[] => {
  const windows = windowsOfStream(stream, { ...CHUNK_DEFAULTS, countTokens });
  return selectProbes(attachItems(stream, windows).artifacts).artifacts;
});

/** Each user's bank, by user: the parent that the next window starts from. */
const parents = new Map<string, string>();
const queue = artifacts.toSorted((a, b) => a.window.index - b.window.index);

for (let step = 0; step < STEPS; step++) {
  const batch = queue.splice(0, WINDOWS_PER_STEP);
  const groups = await Promise.all(
    batch.map(async (artifact) => {
      // 1. Write: G rollouts of the window, each on its own copy of the parent bank.
      const finished = await Promise.all(
        Array.from({ length: GROUP_SIZE }, (_, index) => rollOut(artifact, step, index)),
      );
      const rollouts = finished.map(({ rollout }) => rollout);
      // 2. Score: s[t] = prm + 2·orm − 0.3·pen from the exams on the final banks.
      const results_G = finished.map(({ results }) => results);
      const scored = scoreGroup(rollouts, { artifact, results_G }, REWARD);
      // 3. Credit: normalised down each column, one vote a (rollout, chunk).
      const credited = creditGroup(scored, CREDIT);
      // 4. Promote: the best bank becomes the parent of the user's next window.
      const best = credited.toSorted((a, b) => totalOf(b) - totalOf(a) || a.index - b.index)[0];
      const winner = finished.find(({ rollout }) => rollout.index === best?.index);
      if (winner !== undefined) parents.set(artifact.window.userId, winner.directory);
      return credited;
    }),
  );

  // 5. Update: clipped policy gradient on the recorded tokens and log-probabilities, then serve the new weights.
  const credited = groups.flat();
  const { samples } = toSamples(credited, CREDIT);
  const report = await engine.step(samples, LOSS, OPTIMISER);
  if (report.outcome === 'updated') await engine.publish();

  const scores = credited.flatMap(({ scores_T }) => scores_T);
  const writes = credited.flatMap(({ writes_T }) => writes_T);
  const malformed = writes.filter(({ outcome }) => outcome.kind === 'policy-error').length;
  console.log(
    `step ${step}: chunk score ${mean(scores.map(({ score }) => score)).toFixed(3)}`,
    `prm ${mean(scores.flatMap(({ prm }) => prm ?? [])).toFixed(3)}`,
    `malformed ${(malformed / writes.length).toFixed(3)}`,
    `gradient ${report.gradNorm.toFixed(3)} (${report.trainedTokens} tokens)`,
  );
}

await rm(scratch, { recursive: true, force: true });

/** One rollout: fork, write chunk by chunk through the framework's own code, sit the exam on the bank that came out. */
async function rollOut({ window, probes, questions }: WindowArtifact, step: number, index: number) {
  const directory = join(scratch, `${step}-${window.id.replaceAll('/', '_')}-${index}`);
  const parent = parents.get(window.userId);
  if (parent !== undefined) await forkBank(parent, directory);
  const seed = [SEED, step, window.id, index].join('/');
  await using slot = gateway.openSlot({ writer, stages: harness.stages, seed });
  const { model, embeddings } = slot;
  const now = window.chunks[0]?.at ?? '';
  await using bank = await harness.open({ dir: directory, model, embeddings, now });
  const parentHash = await bank.contentHash();

  const writes_T: ChunkWrite[] = [];
  let before = await bank.list();
  for (const chunk of window.chunks) {
    slot.setPurpose('write');
    await bank.write(chunk);
    const after = await bank.list();
    const calls = [...slot.take()];
    // The gateway saw what the framework hides: a malformed answer is the policy's error, anything else a fault.
    const reasons = calls.flatMap(({ outcome }) => {
      if (outcome.kind === 'fault') throw new Error(`${outcome.boundary}: ${outcome.message}`);
      return outcome.kind === 'policy-error' ? outcome.reasons : [];
    });
    writes_T.push({
      chunkId: chunk.id,
      calls,
      ops: diffListings(before, after),
      tokensBefore: sum(before.map(({ text }) => countTokens(text))),
      tokensAfter: sum(after.map(({ text }) => countTokens(text))),
      chunkTokens: chunk.tokens,
      hashAfter: await bank.contentHash(),
      outcome:
        reasons.length > 0
          ? { kind: 'policy-error', reasons }
          : { kind: 'ok', recoveredMalformed: 0 },
    });
    before = after;
  }
  slot.setPurpose('retrieve');
  const results = await sitExam([...probes, ...questions], bank, examiners);
  const rollout: Rollout = {
    windowId: window.id,
    configuration: harness.configuration,
    sequence: `${window.userId}/0`,
    index,
    parentHash,
    writes_T,
    finalHash: await bank.contentHash(),
    bankTokens: writes_T.at(-1)?.tokensAfter ?? 0,
    outcome: { kind: 'ok' },
  };
  await bank.close();
  return { rollout, results, directory };
}

function totalOf({ total }: { readonly total?: number | undefined }): number {
  return total ?? Number.NEGATIVE_INFINITY;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
