/** Mem0's only kind of model call: one extraction a write, add-only. */
import type { Stage } from '../../../core/stage.ts';
import { promptStage } from '../../prompt-stage.ts';
import { checkMem0Answer, composeMem0Answer } from './answer.ts';
import { readMem0Prompt } from './prompt.ts';
import { renderMem0View } from './view.ts';

const { stage, promptOf } = promptStage(
  'extract',
  (messages) => readMem0Prompt(messages),
  renderMem0View,
);

export const mem0ExtractStage: Stage = {
  ...stage,
  read: promptOf,
  check: (answer, messages) => checkMem0Answer(answer, promptOf(messages)),
  compose: composeMem0Answer,
};
