/** Stage 1, memory on-policy distillation: the student writes, a frozen teacher scores its tokens, one bank goes on. */
import type { DistillationSample } from '../core/policy.ts';
import type { Rollout } from '../core/trace.ts';
import { trainedSegments } from '../credit/segments.ts';
import { mapAll } from '../lib/pool.ts';
import { createRng } from '../lib/rng.ts';
import type { Run } from '../store/run.ts';
import { admitStep, assertAllPresent } from './admit.ts';
import { askTeacher } from './ask-teacher.ts';
import { toChunkWindows } from './chunk-windows.ts';
import { commitStep, reportMetrics } from './commit.ts';
import { withConfigurations, writeMetrics } from './metrics.ts';
import type { OpdOptions } from './options.ts';
import type { OpdParts, TrainEnd } from './parts.ts';
import { chooseCandidate } from './promote.ts';
import { rollOutRows } from './roll-out-rows.ts';
import { openTrainer, runSteps, type Trainer } from './trainer.ts';
import { assertMassHolds, assertSameTokenizer, assertTeacherAnswers } from './tripwires.ts';

export async function trainOpd(run: Run, parts: OpdParts, options: OpdOptions): Promise<TrainEnd> {
  assertSameTokenizer(parts.tokenizerHashes.student, parts.tokenizerHashes.teacher);
  // One candidate becomes the parent of the next chunk, so a row is one chunk long.
  const artifacts = toChunkWindows(parts.artifacts);
  await using trainer = await openTrainer(run, { ...parts, artifacts }, options);
  const { engine, schedule } = trainer;
  const groupSize = options.rolloutsPerRow;

  return await runSteps(trainer, async () => {
    // 1. Write: a few rollouts a row from one parent bank.
    const plan = schedule.plan(run.records);
    const rows = await rollOutRows(trainer, { rows: plan, groupSize }, async () => undefined);
    const written = rows.map(({ finished_G }) => finished_G.map(({ rollout }) => rollout));
    assertAllPresent(plan, written.flat(), groupSize);
    const rollouts = written.flat().map(withoutExam);
    const metrics = withConfigurations(rollouts, writeMetrics);

    // 2. Admit: a platform that failed too often must not teach.
    const admission = admitStep(written.flat(), options.faults);
    if (admission.kind === 'aborted') {
      const promoted = rows.map(() => undefined);
      await commitStep(trainer, { rows, rollouts, promoted, outcome: admission, metrics });
      return;
    }

    // 3. Teach: the teacher's top k at every token that the student sampled, each call on its own.
    const samples = await teach(trainer, written.flat(), { teacher: parts.teacher, options });
    const teacherFaultShare = assertTeacherAnswers(samples, options.maxTeacherFaultShare);

    // 4. Update: reverse KL on the teacher's candidates and a tail bucket for the rest.
    const { klArm, entropyBonus, optimiser } = options;
    const loss = { klArm, entropyBonus, clipLow: 0.2, clipHigh: 0.2 };
    const report = await engine.step(samples, loss, optimiser);
    if (report.outcome === 'updated') await engine.publish();

    // 5. Promote: without a score, a seeded-uniform choice among the valid candidates.
    const rng = createRng(`${options.seed}/${run.nextStep}/promote`);
    const promoted = written.map((group) => chooseCandidate(group, rng));

    // 6. Commit: the step's line is written last.
    await commitStep(trainer, {
      rows,
      rollouts,
      promoted,
      outcome: { kind: report.outcome },
      metrics: { ...metrics, teacherFaultShare, ...reportMetrics(report) },
    });
    assertMassHolds(run.records);
  });
}

interface Lesson {
  readonly teacher: OpdParts['teacher'];
  readonly options: OpdOptions;
}

async function teach(
  { pool }: Trainer,
  rollouts: readonly Rollout[],
  { teacher, options }: Lesson,
): Promise<DistillationSample[]> {
  return await mapAll(trainedSegments(rollouts), ({ promptIds, sampledIds }) =>
    pool.run(async (): Promise<DistillationSample> => {
      const tokenIds = [...promptIds, ...sampledIds];
      const from = promptIds.length;
      const teacher_N = await askTeacher(teacher, { tokenIds, from, k: options.topK });
      return { kind: 'distillation', tokenIds, from, teacher_N };
    }),
  );
}

/** Stage 1 asks no questions: nothing is scored. */
function withoutExam(rollout: Rollout): Rollout & {
  results: never[];
  scores_T: never[];
  advantages_T: never[];
} {
  return { ...rollout, results: [], scores_T: [], advantages_T: [] };
}
