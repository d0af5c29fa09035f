/** Training's writer: chat, template, tokens, policy engine, text; the record holds exactly what was sampled. */
import { boundary, FaultError } from '../core/outcome.ts';
import type { Segment } from '../core/trace.ts';
import { type Completion, ContextOverflowError } from '../engine/contract.ts';
import type { PromptTemplate } from '../tokens/contract.ts';
import {
  type AnswerContext,
  type Answerer,
  type Arrival,
  judgeAnswer,
  type Recorded,
} from './answer.ts';
import type { Writer } from './contract.ts';
import { emitAnswer, emitOverflow } from './emit.ts';

type RenderWriter = Extract<Writer, { kind: 'render' }>;

export function renderAnswerer(writer: RenderWriter): Answerer {
  return async (arrival, context) => {
    const viewed = arrival.stage?.view(arrival.messages) ?? arrival.messages;
    const promptIds = writer.template.render(viewed);
    const sampled = await boundary('policy-engine', () =>
      sampleOrOverflow(writer, promptIds, samplingOf(writer, arrival, context)),
    );
    if (sampled instanceof ContextOverflowError) return overflow(context, sampled);
    return answered(writer, arrival, { context, promptIds, sampled });
  };
}

interface Sampling {
  readonly maxTokens: number;
  readonly seed: (promptIds: readonly number[]) => string;
  readonly signal: AbortSignal;
}

/** Temperature and seed belong to the experiment; of the framework's own parameters only a lower token limit counts. */
function samplingOf(writer: RenderWriter, { request }: Arrival, context: AnswerContext): Sampling {
  const asked = request.max_completion_tokens ?? request.max_tokens ?? writer.maxTokens;
  return {
    maxTokens: Math.min(asked, writer.maxTokens),
    seed: (promptIds) => context.seedFor(promptIds),
    signal: context.signal,
  };
}

async function sampleOrOverflow(
  writer: RenderWriter,
  promptIds: readonly number[],
  { maxTokens, seed, signal }: Sampling,
): Promise<Completion | ContextOverflowError> {
  try {
    return await writer.engine.sample(promptIds, {
      maxTokens,
      temperature: writer.temperature,
      stopIds: writer.template.stopIds,
      seed: seed(promptIds),
      signal,
    });
  } catch (error) {
    if (error instanceof ContextOverflowError) return error;
    throw error;
  }
}

function overflow(context: AnswerContext, error: ContextOverflowError): Recorded {
  emitOverflow(context, error.message);
  return {
    text: '',
    stopReason: 'overflow',
    outcome: { kind: 'policy-error', reasons: ['context-overflow'] },
  };
}

interface Sampled {
  readonly context: AnswerContext;
  readonly promptIds: readonly number[];
  readonly sampled: Completion;
}

function answered(writer: RenderWriter, arrival: Arrival, result: Sampled): Recorded {
  const { context, promptIds, sampled } = result;
  const segment = segmentOf(promptIds, sampled);
  const text = textOf(writer.template, arrival, sampled);
  const outcome = judgeAnswer(arrival, text, sampled.stopReason);
  const promptTokens = promptIds.length;
  const completionTokens = sampled.tokenIds.length;
  emitAnswer(arrival, context, {
    text,
    finishReason: sampled.stopReason,
    promptTokens,
    completionTokens,
  });
  return {
    text,
    stopReason: sampled.stopReason,
    segment,
    usage: { promptTokens, completionTokens },
    outcome,
  };
}

function segmentOf(promptIds: readonly number[], sampled: Completion): Segment {
  const { tokenIds, logprobs, policyVersion } = sampled;
  if (tokenIds.length !== logprobs.length || !logprobs.every(Number.isFinite)) {
    const found = `${tokenIds.length} tokens with ${logprobs.filter(Number.isFinite).length} finite log-probabilities`;
    throw new FaultError('policy-engine', `the engine answered ${found}`);
  }
  return {
    promptIds: [...promptIds],
    sampledIds: [...tokenIds],
    logprobs: [...logprobs],
    policyVersion,
  };
}

/** As the framework must see it: the record's segment keeps what was sampled. */
function textOf(
  template: PromptTemplate,
  { stage, messages }: Arrival,
  { tokenIds, stopReason }: Completion,
): string {
  const last = tokenIds.at(-1);
  const ended = stopReason === 'stop' && last !== undefined && template.stopIds.includes(last);
  const answer = template.tokenizer.decode(ended ? tokenIds.slice(0, -1) : tokenIds);
  return stage?.fromView?.(answer, messages) ?? answer;
}
