/** Control banks: what a bank is worth that holds nothing, and one that holds the conversation's own words. */
import type { ChatMessage } from '../core/chat.ts';
import type { Stage } from '../core/stage.ts';

export type Control = 'empty' | 'verbatim';

/** A writer's whole behaviour: what it answers to a recognised request. */
export type ScriptedReply = (stage: Stage, messages: readonly ChatMessage[]) => string;

export const controlReplies: Readonly<Record<Control, ScriptedReply>> = {
  empty: (stage, messages) => stage.compose([], messages),
  verbatim: (stage, messages) => stage.compose(stage.read(messages).newMessages, messages),
};
