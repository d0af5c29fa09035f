/** Control banks and tests: a pure function answers in the writer's place. */
import { FaultError } from '../core/outcome.ts';
import { type Answerer, judgeAnswer } from './answer.ts';
import type { Writer } from './contract.ts';
import { emitAnswer } from './emit.ts';

export function scriptedAnswerer(writer: Extract<Writer, { kind: 'scripted' }>): Answerer {
  return async (arrival, context) => {
    if (arrival.stage === undefined)
      throw new FaultError('gateway', 'a scripted writer needs stages');
    const text = writer.reply(arrival.stage, arrival.messages);
    const outcome = judgeAnswer(arrival, text, 'stop');
    emitAnswer(arrival, context, {
      text,
      finishReason: 'stop',
      promptTokens: 0,
      completionTokens: 0,
    });
    return { text, stopReason: 'stop', outcome };
  };
}
