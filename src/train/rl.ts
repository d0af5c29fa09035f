/** Stage 2, memory RL: write, sit the exam, credit every chunk, update the writer, promote the best bank. */
import type { ExamItem, WindowArtifact } from '../core/exam.ts';
import type { ScoredRollout } from '../core/trace.ts';
import { creditGroup } from '../credit/advantages.ts';
import { creditGauges } from '../credit/gauges.ts';
import { toSamples } from '../credit/samples.ts';
import { sitExam } from '../exam/sit.ts';
import { scoreGroup } from '../reward/score-rollout.ts';
import type { Run } from '../store/run.ts';
import { admitStep, assertAllPresent } from './admit.ts';
import { commitStep, reportMetrics } from './commit.ts';
import { distinctBanks, scoreMetrics, withConfigurations } from './metrics.ts';
import type { RlOptions } from './options.ts';
import type { RlParts, TrainEnd } from './parts.ts';
import { chooseBest } from './promote.ts';
import { type RolledRow, rollOutRows } from './roll-out-rows.ts';
import { openTrainer, runSteps } from './trainer.ts';
import { assertSamplerAgrees, assertSamplesAtOne } from './tripwires.ts';

/** Columns without a signal beyond this share raise an alarm. */
const SILENT_ALARM = 0.5;

export async function trainRl(run: Run, parts: RlParts, options: RlOptions): Promise<TrainEnd> {
  await using trainer = await openTrainer(run, parts, options);
  const { engine, schedule } = trainer;
  assertSamplesAtOne(trainer.writer);
  const { groupSize } = options.credit;
  let samplerChecked = false;

  return await runSteps(trainer, async () => {
    // 1. Write: G copies of one parent bank a row, and the exam on each final bank.
    const plan = schedule.plan(run.records);
    const rows = await rollOutRows(trainer, { rows: plan, groupSize }, ({ artifact }, bank) =>
      sitExam(itemsOf(artifact), bank, parts.examiners),
    );

    // 2. Score: exams become chunk scores, item faults are settled over the group.
    const scored = rows.map((rolled) => scoreRow(rolled, options));
    assertAllPresent(plan, scored.flat(), groupSize);

    // 3. Credit: advantages down each column of the group.
    const credited = scored.map((group) => creditGroup(group, options.credit));
    const rollouts = credited.flat();
    const gauges = creditGauges(credited);
    const metrics = {
      ...withConfigurations(rollouts, scoreMetrics),
      ...gaugeMetrics(gauges),
      distinctBanks: distinctBanks(credited),
    };

    // 4. Admit: a platform that failed too often must not teach.
    const admission = admitStep(rollouts, options.faults);
    if (admission.kind === 'aborted') {
      const promoted = rows.map(() => undefined);
      await commitStep(trainer, { rows, rollouts, promoted, outcome: admission, metrics });
      return;
    }

    // 5. Update: every segment carries its chunk's advantage, on the recorded tokens.
    const batch = toSamples(rollouts, options.credit);
    if (!samplerChecked && batch.samples.length > 0) {
      await assertSamplerAgrees(engine, batch.samples);
      samplerChecked = true;
    }
    const loss = { ...options.loss, klArm: 'tail' as const, entropyBonus: 0 };
    const report = await engine.step(batch.samples, loss, options.optimiser);
    if (report.outcome === 'updated') await engine.publish();

    // 6. Promote: the best bank of each row becomes the parent of the user's next window.
    const promoted = scored.map(chooseBest);

    // 7. Commit: the step's line is written last.
    if (gauges.silentShare !== undefined && gauges.silentShare > SILENT_ALARM) {
      const message = `${Math.round(100 * gauges.silentShare)} % of the columns have no signal`;
      await trainer.emit({ type: 'alarm', step: run.nextStep, message });
    }
    await commitStep(trainer, {
      rows,
      rollouts,
      promoted,
      outcome: { kind: report.outcome },
      metrics: { ...metrics, massSkew: batch.massSkew, ...reportMetrics(report) },
      exam: parts.examiners.cache.counts(),
    });
  });
}

function itemsOf({ probes, questions }: WindowArtifact): ExamItem[] {
  return [...probes, ...questions];
}

function scoreRow(
  { row, finished_G }: RolledRow<Awaited<ReturnType<typeof sitExam>>>,
  { reward }: RlOptions,
): ScoredRollout[] {
  return scoreGroup(
    finished_G.map(({ rollout }) => rollout),
    // A faulted rollout sat no exam.
    { artifact: row.artifact, results_G: finished_G.map(({ final = [] }) => final) },
    reward,
  );
}

function gaugeMetrics(gauges: ReturnType<typeof creditGauges>): Record<string, number | undefined> {
  const { silentShare, sigmaMean, inheritedError } = gauges;
  return { silentShare, sigmaMean, inheritedError };
}
