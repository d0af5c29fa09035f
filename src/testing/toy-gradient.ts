/** Exact gradients of both objectives for a policy of two-way choices (definitions §7-8). */
import type { DistillationSample, PolicyGradientSample, Sample } from '../core/policy.ts';
import type { LossOptions, StepReport } from '../engine/contract.ts';

export interface Decision {
  readonly yes: number;
  readonly no: number;
  /** Of `yes`. */
  readonly probability: number;
  /** Index of the logit behind it; undefined where the token is forced. */
  readonly weight: number | undefined;
}

type Decide = (prefix: readonly number[]) => Decision;
type Report = StepReport & { readonly gradient: readonly number[] };

interface Sums {
  loss: number;
  tokens: number;
  ratio: number;
  massOnTopK: number;
  readonly gradient: number[];
}

const WEIGHTS = 4;

export function accumulate(samples: readonly Sample[], loss: LossOptions, decide: Decide): Report {
  const gradient = Array.from({ length: WEIGHTS }, () => 0);
  const sums: Sums = { loss: 0, tokens: 0, ratio: 0, massOnTopK: 0, gradient };
  for (const sample of samples) {
    if (sample.kind === 'cross-entropy') throw new Error('the toy policy has no cross-entropy');
    if (sample.kind === 'policy-gradient') addPolicyGradient(sums, sample, { loss, decide });
    else addDistillation(sums, sample, decide);
  }
  const scale = 1 / Math.max(1, samples.length);
  const scaled = gradient.map((value) => value * scale);
  const finite = Number.isFinite(sums.loss) && scaled.every(Number.isFinite);
  const outcome = finite ? 'updated' : 'skipped-non-finite';
  return {
    loss: sums.loss * scale,
    gradNorm: Math.hypot(...scaled),
    trainedTokens: sums.tokens,
    outcome: sums.tokens === 0 ? 'skipped-empty' : outcome,
    metrics: {
      ratioMean: sums.tokens === 0 ? 1 : sums.ratio / sums.tokens,
      studentMassOnTopK: sums.tokens === 0 ? 1 : sums.massOnTopK / sums.tokens,
    },
    gradient: scaled,
  };
}

function addPolicyGradient(
  sums: Sums,
  sample: PolicyGradientSample,
  { loss, decide }: { readonly loss: LossOptions; readonly decide: Decide },
): void {
  const { tokenIds, from, advantage, weight } = sample;
  const share = weight / (tokenIds.length - from);
  for (let i = from; i < tokenIds.length; i++) {
    const decision = decide(tokenIds.slice(0, i));
    const chose = tokenIds[i] === decision.yes;
    const probability = chose ? decision.probability : 1 - decision.probability;
    const ratio = Math.exp(Math.log(probability) - (sample.logprobs_N[i - from] ?? Number.NaN));
    const clipped = Math.min(Math.max(ratio, 1 - loss.clipLow), 1 + loss.clipHigh);
    sums.loss -= share * Math.min(ratio * advantage, clipped * advantage);
    sums.tokens += 1;
    sums.ratio += ratio;
    if (decision.weight === undefined || clipped * advantage < ratio * advantage) continue;
    const slope = chose ? 1 - decision.probability : -decision.probability;
    bump(sums.gradient, decision.weight, -share * advantage * ratio * slope);
  }
}

function addDistillation(sums: Sums, sample: DistillationSample, decide: Decide): void {
  const { tokenIds, from } = sample;
  const share = 1 / (tokenIds.length - from);
  for (let i = from; i < tokenIds.length; i++) {
    const teacher = sample.teacher_N[i - from];
    const { yes, probability: q, weight } = decide(tokenIds.slice(0, i));
    const at = teacher === undefined ? -1 : teacher.ids.indexOf(yes);
    const p = Math.exp(teacher?.logprobs[at] ?? Number.NaN);
    if (teacher === undefined) continue;
    sums.tokens += 1;
    sums.massOnTopK += 1;
    if (weight === undefined) continue;
    const gap = Math.log(q / (1 - q)) - Math.log(p / (1 - p));
    sums.loss += share * (q * Math.log(q / p) + (1 - q) * Math.log((1 - q) / (1 - p)));
    bump(sums.gradient, weight, share * q * (1 - q) * gap);
  }
}

function bump(gradient: number[], index: number, by: number): void {
  gradient[index] = (gradient[index] ?? Number.NaN) + by;
}
