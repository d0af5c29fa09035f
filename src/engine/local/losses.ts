/** The three losses as graphs over logits (definitions §7, §8). Weights arrive normalised, so micro-batches simply add up. */
import type { LossOptions } from '../contract.ts';
import { Tape } from './autodiff.ts';
import type { LlamaConfig } from './config.ts';
import type { Graph, Value } from './graph.ts';
import { buildLlama } from './llama.ts';
import {
  add,
  dot,
  exponential,
  logarithm,
  maximum,
  minimum,
  multiply,
  negate,
  reshape,
  subtract,
  sumLast,
} from './ops.ts';
import { entropy, type LogSoftmax, logSoftmax, pick } from './ops-logits.ts';

const ROWS = 'rows';
const TOP_K = 'k';

/** Probability mass outside the teacher's top k is never taken below this (definitions §7). */
export const TAIL_FLOOR = 1e-8;

export interface LossSpec {
  readonly kind: 'cross-entropy' | 'policy-gradient' | 'distillation';
  readonly klArm: LossOptions['klArm'];
  /** Whether the loss contains the entropy bonus; its weight is fed. */
  readonly entropyBonus: boolean;
}

/** One program for each: what is fed beside the weights and the batch depends on `kind`. */
export function lossKey({ kind, klArm, entropyBonus }: LossSpec): string {
  if (kind === 'cross-entropy') return kind;
  const bonus = entropyBonus ? 'entropy' : 'plain';
  return kind === 'distillation' ? `${kind} ${klArm} ${bonus}` : `${kind} ${bonus}`;
}

export function gradientName(parameter: string): string {
  return `gradient ${parameter}`;
}

export const EMBEDDED_GRADIENT = 'gradient embedded';

/** Forward, loss and backward of one batch. Outputs: `loss`, per-row figures, one gradient for each tensor. */
export function buildLossGraph(config: LlamaConfig, spec: LossSpec): Graph {
  const tape = new Tape();
  const { graph } = tape;
  const { logits, weights, embedded } = buildLlama(tape, config);
  const loss = buildLoss(tape, spec, logits);
  const gradients = tape.backward(loss);
  graph.output('loss', loss);
  for (const [name, weight] of weights) {
    const gradient = gradients.get(weight);
    if (gradient !== undefined) graph.output(gradientName(name), gradient);
  }
  const toEmbedded = gradients.get(embedded);
  if (toEmbedded === undefined) throw new Error('no gradient reached the embedding');
  graph.output(EMBEDDED_GRADIENT, toEmbedded);
  graph.prune();
  return graph;
}

/** Adds the loss to a tape; per-row figures become outputs. */
export function buildLoss(tape: Tape, spec: LossSpec, logits: Value): Value {
  const softmax = logSoftmax(tape, logits);
  switch (spec.kind) {
    case 'cross-entropy':
      return crossEntropy(tape, softmax);
    case 'policy-gradient':
      return withEntropy(tape, { softmax, spec, perRow: clippedSurrogate(tape, softmax) });
    case 'distillation':
      return withEntropy(tape, { softmax, spec, perRow: reverseKl(tape, softmax, spec.klArm) });
    default:
      return spec.kind satisfies never;
  }
}

/** Σ w · −log p. */
function crossEntropy(tape: Tape, softmax: LogSoftmax): Value {
  const weight = tape.graph.input('weight', [ROWS]);
  return negate(tape, dot(tape, weight, targetLogProbabilities(tape, softmax)));
}

function targetLogProbabilities(tape: Tape, softmax: LogSoftmax): Value {
  const ids = tape.graph.input('ids', [ROWS, 1], 'i32');
  const column = pick(tape, softmax, ids);
  const row = reshape(tape, column, { shape: [ROWS] });
  tape.graph.output('logprobs', row);
  return row;
}

/** −min(ρA, clip(ρ, 1 − ε_low, 1 + ε_high)A) of each row, ρ = exp(log p − recorded). */
function clippedSurrogate(tape: Tape, softmax: LogSoftmax): Value {
  const { graph } = tape;
  const recorded = graph.input('recorded', [ROWS]);
  const advantage = graph.input('advantage', [ROWS]);
  const lowest = graph.input('lowest', []);
  const highest = graph.input('highest', []);
  const now = targetLogProbabilities(tape, softmax);
  const ratio = exponential(tape, subtract(tape, now, recorded));
  const clipped = minimum(tape, maximum(tape, ratio, lowest), highest);
  const surrogate = minimum(
    tape,
    multiply(tape, ratio, advantage),
    multiply(tape, clipped, advantage),
  );
  return negate(tape, surrogate);
}

/** Reverse KL of each row on the teacher's top k. Padding of a row with fewer than k carries `valid` 0. */
function reverseKl(tape: Tape, softmax: LogSoftmax, arm: LossOptions['klArm']): Value {
  const { graph } = tape;
  const ids = graph.input('ids', [ROWS, TOP_K], 'i32');
  const teacher = graph.input('teacher', [ROWS, TOP_K]);
  const valid = graph.input('valid', [ROWS, TOP_K]);
  const student = pick(tape, softmax, ids);
  const probability = multiply(tape, exponential(tape, student), valid);
  const mass = sumLast(tape, probability);
  graph.output('mass', mass);
  const kl = klOfArm(tape, { arm, student, teacher, probability, mass });
  graph.output('kl', kl);
  return kl;
}

interface KlTerms {
  readonly arm: LossOptions['klArm'];
  readonly student: Value;
  readonly teacher: Value;
  readonly probability: Value;
  readonly mass: Value;
}

function klOfArm(tape: Tape, { arm, student, teacher, probability, mass }: KlTerms): Value {
  const { graph } = tape;
  const inside = sumLast(tape, multiply(tape, probability, subtract(tape, student, teacher)));
  switch (arm) {
    case 'truncated':
      return inside;
    case 'renormalised': {
      // q' = q / mass; the teacher is fed renormalised: Σ q'(log q' − log p') = inside / mass − log mass.
      const logMass = logarithm(tape, mass);
      const perMass = multiply(tape, inside, exponential(tape, negate(tape, logMass)));
      return subtract(tape, perMass, logMass);
    }
    case 'tail': {
      const teacherTail = graph.input('teacherTail', [ROWS]);
      const rest = subtract(tape, graph.scalar(1), mass);
      const tail = maximum(tape, rest, graph.scalar(TAIL_FLOOR));
      const outside = multiply(tape, tail, subtract(tape, logarithm(tape, tail), teacherTail));
      return add(tape, inside, outside);
    }
    default:
      return arm satisfies never;
  }
}

interface Weighted {
  readonly softmax: LogSoftmax;
  readonly spec: LossSpec;
  readonly perRow: Value;
}

/** Σ weight · (row − bonus · entropy). */
function withEntropy(tape: Tape, { softmax, spec, perRow }: Weighted): Value {
  const { graph } = tape;
  const weight = graph.input('weight', [ROWS]);
  const rowEntropy = entropy(tape, softmax);
  graph.output('entropy', rowEntropy);
  const loss = dot(tape, weight, perRow);
  if (!spec.entropyBonus) return loss;
  const bonus = graph.input('entropyBonus', []);
  return subtract(tape, loss, multiply(tape, bonus, dot(tape, weight, rowEntropy)));
}
