/** Answers a replayed write from the record: the same question gets the same answer, under the ids of the new bank. */
import type { ChatMessage } from '../core/chat.ts';
import { FaultError } from '../core/outcome.ts';
import type { Stage, StageRequest } from '../core/stage.ts';
import type { Call } from '../core/trace.ts';

type Offered = StageRequest['existingMemories'];

interface Recorded {
  readonly text: string;
  readonly offered: Offered;
}

/**
 * Frameworks name memories by random ids and put clock times into their prompts, so a question is known by its stage,
 * its new messages and the texts it offers; several answers to the same question come in their order. The reply throws a
 * `FaultError` where the framework asks what it did not ask before.
 */
export function replyFrom(
  calls: readonly Call[],
  stages: readonly Stage[],
): (stage: Stage, messages: readonly ChatMessage[]) => string {
  const byName = new Map(stages.map((stage) => [stage.name, stage]));
  const answers = new Map<string, Recorded[]>();
  for (const { stage: name, messages, text } of calls) {
    const stage = byName.get(name);
    if (stage === undefined) continue;
    const request = stage.read(messages);
    const key = questionOf(stage, request);
    const queue = answers.get(key) ?? [];
    answers.set(key, queue);
    queue.push({ text, offered: request.existingMemories });
  }
  return (stage, messages) => {
    const request = stage.read(messages);
    const recorded = answers.get(questionOf(stage, request))?.shift();
    if (recorded === undefined) throw new FaultError('harness', 'a replayed write asked anew');
    return renameIds(recorded, request.existingMemories);
  };
}

function questionOf({ name }: Stage, { newMessages, existingMemories }: StageRequest): string {
  return JSON.stringify([name, newMessages, existingMemories.map(({ text }) => text).sort()]);
}

/** Old ids become new ones, matched by text; memories of equal text stand in the order in which they were offered. */
function renameIds({ text, offered }: Recorded, now: Offered): string {
  const byText = (a: Offered[number], b: Offered[number]): number =>
    a.text < b.text ? -1 : Number(a.text > b.text);
  const sorted = now.toSorted(byText);
  const names = new Map(offered.toSorted(byText).map(({ id }, i) => [id, sorted[i]?.id ?? id]));
  const changed = [...names].filter(([id, name]) => id !== name).map(([id]) => id);
  if (changed.length === 0) return text;
  const pattern = new RegExp(changed.map(escapePattern).join('|'), 'g');
  return text.replace(pattern, (id) => names.get(id) ?? id);
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
