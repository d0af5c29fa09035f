/** Hy-Memory's chat scene: memories are extracted, then merged with what is there, where anything near is there. */
import { z } from 'zod';
import type { ChatMessage } from '../../../core/chat.ts';
import type {
  AnswerVerdict,
  CheckedCall,
  RequestedOperation,
  Stage,
  WriteEffect,
} from '../../../core/stage.ts';
import { composeJson, malformed, readShapedAnswer } from '../../json-answer.ts';
import { promptStage } from '../../prompt-stage.ts';
import { numbered, sectionView } from '../../section-view.ts';
import { idsFromPositions, NOBODY } from './positions.ts';
import {
  type ChatExtractPrompt,
  type ChatReconcilePrompt,
  readChatExtract,
  readChatReconcile,
} from './prompts-chat.ts';

const ownerSchema = z.enum(['user', 'agent']);
const tagsSchema = z.array(z.string()).min(1).max(3);
const extractAnswer = z.strictObject({
  memory: z.array(
    z.strictObject({ content: z.string().min(1), tags: tagsSchema, owner: ownerSchema }),
  ),
  intentions: z
    .array(
      z.strictObject({
        content: z.string().min(1),
        tags: tagsSchema,
        valid_until: z.iso.date().nullable(),
        owner: ownerSchema,
      }),
    )
    .default([]),
  /** Any other field is dropped. */
  basic_info: z
    .strictObject({
      name: z.string().optional(),
      age: z.union([z.string(), z.number()]).optional(),
      location: z.string().optional(),
      occupation: z.string().optional(),
      employer: z.string().optional(),
    })
    .default({}),
});

/** `<|hy.chat.extract|>`, `<|last|>…<|new|>role: text…<|date|>conversation's day, today` */
export function renderChatExtractView(prompt: ChatExtractPrompt): ChatMessage[] {
  const { last, newMessages, memoryDate, currentDate } = prompt;
  return sectionView('<|hy.chat.extract|>', [
    ['<|last|>', [last]],
    ['<|new|>', newMessages],
    ['<|date|>', [memoryDate, currentDate]],
  ]);
}

const extract = promptStage('extract', readChatExtract, renderChatExtractView);

export const chatExtractStage: Stage = {
  ...extract.stage,
  read: (messages) => ({
    newMessages: extract.promptOf(messages).newMessages,
    existingMemories: [],
  }),
  check: (answer) => {
    const read = readShapedAnswer(answer, extractAnswer);
    // Drafts: whether they are stored as they are depends on what is near.
    return read.kind === 'value'
      ? { kind: 'well-formed', operations: [] }
      : malformed(...read.reasons);
  },
  compose: (texts) =>
    composeJson({
      memory: texts.map((content) => ({ content, tags: ['note'], owner: 'user' })),
      intentions: [],
      basic_info: {},
    }),
};

const written = { content: z.string().min(1), owner: ownerSchema, tags: tagsSchema };
const related = z
  .array(
    z.strictObject({
      memory_id: z.string(),
      relation: z.enum(['causes', 'elaborates', 'contrasts', 'same_series']),
    }),
  )
  .optional();
const operationSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('ADD'), ...written, related }),
  z.strictObject({ op: z.literal('UPDATE'), memory_id: z.string(), ...written, related }),
  z.strictObject({
    op: z.literal('SUPERSEDE'),
    memory_id: z.string().optional(),
    memory_ids: z.array(z.string()).min(1).optional(),
    supersede_reason: z.string().optional(),
    ...written,
    related,
  }),
  z.strictObject({ op: z.literal('DELETE'), memory_id: z.string() }),
]);
type ChatOperation = z.infer<typeof operationSchema>;
const reconcileAnswer = z.array(operationSchema);

/** `<|hy.chat.reconcile|>`, `<|existing|>0 text | owner | time | tags…<|drafts|>0 …<|date|>now` */
export function renderChatReconcileView(prompt: ChatReconcilePrompt): ChatMessage[] {
  return sectionView('<|hy.chat.reconcile|>', [
    ['<|existing|>', numbered(prompt.existing.map(rowText))],
    ['<|drafts|>', numbered(prompt.drafts.map(rowText))],
    ['<|date|>', [prompt.now]],
  ]);
}

type Row = ChatReconcilePrompt['drafts'][number];

function rowText({ content, owner, memory_at, tags }: Row): string {
  return [content, owner, memory_at, tags.join(' ')].join(' | ');
}

const reconcile = promptStage('reconcile', readChatReconcile, renderChatReconcileView);

export const chatReconcileStage: Stage = {
  ...reconcile.stage,
  read: (messages) => {
    const { existing, drafts } = reconcile.promptOf(messages);
    return {
      newMessages: drafts.map(({ content }) => content),
      existingMemories: existing.map(({ memory_id: id, content: text }) => ({ id, text })),
    };
  },
  fromView: (answer, messages) => {
    const ids = reconcile.promptOf(messages).existing.map(({ memory_id: id }) => id);
    return idsFromPositions(answer, ids, ['memory_id', 'memory_ids']);
  },
  check: (answer, messages) => checkReconcile(answer, reconcile.promptOf(messages)),
  compose: (texts, messages) => {
    const kept = reconcile
      .promptOf(messages)
      .drafts.filter(({ content }) => texts.includes(content));
    return composeJson(
      kept.map(({ content, tags }) => ({
        op: 'ADD',
        content,
        owner: 'user',
        tags: tags.some((tag) => tag !== '') ? tags : ['note'],
      })),
    );
  },
  misname: (kind, messages) => {
    const [first] = reconcile.promptOf(messages).existing;
    const update = (memory_id: string) => ({
      op: 'UPDATE',
      memory_id,
      content: 'renamed',
      owner: 'user',
      tags: ['note'],
    });
    if (kind === 'unknown-id') return JSON.stringify([update(NOBODY)]);
    return first && JSON.stringify([update(first.memory_id), update(first.memory_id)]);
  },
};

export function checkReconcile(
  answer: string,
  { existing }: Pick<ChatReconcilePrompt, 'existing'>,
): AnswerVerdict {
  const read = readShapedAnswer(answer, reconcileAnswer, ['op']);
  if (read.kind === 'malformed') return malformed(...read.reasons);
  const offered = new Set(existing.map(({ memory_id: id }) => id));
  const targets = read.value.flatMap(targetsOf);
  const linked = read.value.flatMap((one) =>
    'related' in one ? (one.related ?? []).map(({ memory_id: id }) => id) : [],
  );
  if ([...targets, ...linked].some((id) => !offered.has(id))) return malformed('unknown-id');
  // Of two operations on one memory the first wins, and the second's content is lost.
  if (new Set(targets).size < targets.length) return malformed('schema-invalid');
  const bare = read.value.some((one) => one.op === 'SUPERSEDE' && targetsOf(one).length === 0);
  return bare
    ? malformed('missing-field')
    : { kind: 'well-formed', operations: read.value.flatMap(operationsOf) };
}

function targetsOf(operation: ChatOperation): string[] {
  switch (operation.op) {
    case 'ADD':
      return [];
    case 'UPDATE':
    case 'DELETE':
      return [operation.memory_id];
    case 'SUPERSEDE': {
      const { memory_id: one, memory_ids: many } = operation;
      return many ?? (one === undefined ? [] : [one]);
    }
    default:
      return operation satisfies never;
  }
}

/** What is superseded leaves the listing of active memories, as what is deleted does. */
function operationsOf(operation: ChatOperation): RequestedOperation[] {
  const removed = targetsOf(operation).map((id) => ({ kind: 'remove' as const, id }));
  switch (operation.op) {
    case 'ADD':
      return [{ kind: 'add', text: operation.content }];
    case 'UPDATE':
      return [{ kind: 'update', id: operation.memory_id, text: operation.content }];
    case 'SUPERSEDE':
      return [...removed, { kind: 'add', text: operation.content }];
    case 'DELETE':
      return removed;
    default:
      return operation satisfies never;
  }
}

/**
 * The merge decides where it was asked; without a candidate near, the drafts are stored as they are (near copies within
 * one extraction are left out: the bridge, which sees their vectors, reports them). Intentions are stored beside either.
 */
export function effectOfChat(calls: readonly CheckedCall[]): WriteEffect {
  const merges = calls.filter(({ stage }) => stage === chatReconcileStage.name);
  const answers = calls
    .filter(({ stage }) => stage === chatExtractStage.name)
    .map(({ answer }) => readShapedAnswer(answer, extractAnswer));
  const values = answers.flatMap((read) => (read.kind === 'value' ? [read.value] : []));
  const drafts = values.flatMap(({ memory }) => memory.map(({ content }) => content));
  const intentions = values.flatMap((value) => value.intentions.map(({ content }) => content));
  const stored = merges.length > 0 ? [] : drafts;
  const added = [...stored, ...intentions].map((text) => ({ kind: 'add' as const, text }));
  return { requests: [...merges, { operations: added, offered: [] }], optional: [] };
}
