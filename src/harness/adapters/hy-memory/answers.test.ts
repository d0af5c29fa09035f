/** Answers of Hy-Memory's stages: whole, or malformed for a reason; what writes of several calls ask for. */
import { describe, expect, test } from 'vitest';
import type { CheckedCall } from '../../../core/stage.ts';
import { idsFromPositions } from './positions.ts';
import { existingSchema } from './prompts-chat.ts';
import { chatExtractStage, checkReconcile, effectOfChat } from './stages-chat.ts';
import { checkExperiences, checkFacts, experienceRequests } from './stages-merge.ts';
import { effectOfTask, taskExtractStage } from './stages-tasks.ts';

const row = { content: 'Lives in Oslo', owner: 'user', memory_at: '2024-05-08', tags: ['home'] };
const prompt = {
  existing: [
    { ...row, memory_id: 'aaa' },
    { ...row, memory_id: 'bbb' },
  ],
};
const fresh = { content: 'Lives in Bergen', owner: 'user', tags: ['home'] };

function call(stage: string, answer: unknown, more: Partial<CheckedCall> = {}): CheckedCall {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  return { stage, answer: text, messages: [], operations: [], offered: [], ...more };
}

test('what a malformed answer left in the bank can be read when it is offered again', () => {
  const rows = [
    { memory_id: 'a', content: null, owner: null, memory_at: '2024-05-08', tags: null },
    { memory_id: 'c', content: 'Lives in Oslo' },
    { memory_id: 'b', content: 7, owner: ['user'], memory_at: null, tags: ['home', 3] },
  ];
  expect(existingSchema.parse(rows)).toEqual([
    { memory_id: 'a', content: '', owner: '', memory_at: '2024-05-08', tags: [''] },
    { memory_id: 'c', content: 'Lives in Oslo', owner: '', memory_at: '', tags: [''] },
    { memory_id: 'b', content: '7', owner: '["user"]', memory_at: '', tags: ['home', '3'] },
  ]);
});

describe('the chat scene', () => {
  test('a merge adds, rewrites, supersedes and deletes', () => {
    const operations = [
      { op: 'ADD', ...fresh },
      { op: 'SUPERSEDE', memory_ids: ['aaa', 'bbb'], supersede_reason: 'moved', ...fresh },
    ];
    expect(checkReconcile(JSON.stringify(operations), prompt)).toEqual({
      kind: 'well-formed',
      operations: [
        { kind: 'add', text: 'Lives in Bergen' },
        { kind: 'remove', id: 'aaa' },
        { kind: 'remove', id: 'bbb' },
        { kind: 'add', text: 'Lives in Bergen' },
      ],
    });
    const others = [
      { op: 'UPDATE', memory_id: 'aaa', ...fresh },
      { op: 'DELETE', memory_id: 'bbb' },
    ];
    expect(checkReconcile(`\`\`\`json\n${JSON.stringify(others)}\n\`\`\``, prompt)).toEqual({
      kind: 'well-formed',
      operations: [
        { kind: 'update', id: 'aaa', text: 'Lives in Bergen' },
        { kind: 'remove', id: 'bbb' },
      ],
    });
    expect(checkReconcile('[]', prompt)).toEqual({ kind: 'well-formed', operations: [] });
  });

  test.each([
    ['an id that was not offered', [{ op: 'UPDATE', memory_id: 'zzz', ...fresh }], 'unknown-id'],
    [
      'a relation to such an id',
      [{ op: 'ADD', ...fresh, related: [{ memory_id: 'zzz', relation: 'causes' }] }],
      'unknown-id',
    ],
    [
      'one id twice',
      [
        { op: 'UPDATE', memory_id: 'aaa', ...fresh },
        { op: 'DELETE', memory_id: 'aaa' },
      ],
      'schema-invalid',
    ],
    ['a supersede of nothing', [{ op: 'SUPERSEDE', ...fresh }], 'missing-field'],
    ['no content', [{ op: 'ADD', owner: 'user', tags: ['a'] }], 'missing-field'],
    ['null for content', [{ op: 'ADD', ...fresh, content: null }], 'schema-invalid'],
    ['one object', { op: 'ADD', ...fresh }, 'schema-invalid'],
  ])('%s is malformed', (_name, answer, reason) => {
    const verdict = checkReconcile(JSON.stringify(answer), prompt);
    expect(verdict.kind === 'malformed' && verdict.reasons).toContain(reason);
  });

  test('an extraction has tags, an owner, and no key that would be ignored', () => {
    const memory = [fresh];
    const whole = { memory, intentions: [], basic_info: { name: 'Bob', age: 40 } };
    expect(chatExtractStage.check(JSON.stringify(whole), []).kind).toBe('well-formed');
    for (const bad of [
      { memories: memory },
      { memory: ['Lives in Bergen'] },
      { memory: [{ ...fresh, tags: [] }] },
      { memory, basic_info: { city: 'Oslo' } },
      { memory, intentions: [{ ...fresh, valid_until: 'soon' }] },
    ]) {
      expect(chatExtractStage.check(JSON.stringify(bad), []).kind).toBe('malformed');
    }
  });

  test('without a merge the drafts stand; with one it alone decides', () => {
    const drafts = ['Bob lives in Oslo now', 'The cat is Mia'];
    const extract = call('extract', {
      memory: drafts.map((content) => ({ ...fresh, content })),
      intentions: [{ ...fresh, content: 'call Ann', valid_until: null }],
    });
    const alone = effectOfChat([extract]);
    const texts = alone.requests.flatMap(({ operations }) => operations);
    expect(texts).toEqual([
      { kind: 'add', text: 'Bob lives in Oslo now' },
      { kind: 'add', text: 'The cat is Mia' },
      { kind: 'add', text: 'call Ann' },
    ]);
    expect(alone.optional).toEqual([]);
    const merge = call('reconcile', '[]', { operations: [{ kind: 'add', text: 'merged' }] });
    const merged = effectOfChat([extract, merge]);
    expect(merged.requests.flatMap(({ operations }) => operations)).toEqual([
      { kind: 'add', text: 'merged' },
      { kind: 'add', text: 'call Ann' },
    ]);
    expect(merged.optional).toEqual([]);
  });
});

describe('the working and coding scenes', () => {
  const merge = {
    drafts: [
      { task: 'deploy', solution: 'make' },
      { task: 'test', solution: 'npm test' },
    ],
    candidates: [{ id: 'e1', draft: 0, fields: { task: 'deploy', solution: 'old' } }],
  };
  const ops = (...members: readonly object[]): string => JSON.stringify({ ops: members });
  const both = [
    { draft_idx: 0, action: 'UPDATE', target_experience_id: 'e1' },
    { draft_idx: 1, action: 'SKIP' },
  ];

  test('each draft is decided once', () => {
    expect(checkExperiences(ops(...both), merge).kind).toBe('well-formed');
    expect(experienceRequests(ops(...both), ['deploy\nmake', 'test\nnpm test'])).toEqual([
      { kind: 'update', id: 'e1', text: 'deploy\nmake' },
      { kind: 'none' },
    ]);
  });

  test.each([
    ['a draft left out', ops(both[0] ?? {}), 'missing-field'],
    ['a draft twice', ops(...both, { draft_idx: 1, action: 'ADD' }), 'missing-field'],
    [
      'a draft that is not there',
      ops(both[0] ?? {}, { draft_idx: 5, action: 'ADD' }),
      'missing-field',
    ],
    [
      'a target of another draft',
      ops({ draft_idx: 0, action: 'ADD' }, { ...both[0], draft_idx: 1 }),
      'unknown-id',
    ],
    [
      'an update and a deletion of one target',
      ops(...both, { action: 'DELETE', target_experience_id: 'e1' }),
      'schema-invalid',
    ],
  ])('%s is malformed', (_name, answer, reason) => {
    const verdict = checkExperiences(answer, merge);
    expect(verdict.kind === 'malformed' && verdict.reasons).toContain(reason);
  });

  test('a fact supersedes what was offered to it', () => {
    const prompt = {
      drafts: [{ subject: 'staging', statement: 'runs 2.4.1' }],
      candidates: [{ id: 'f1', draft: 0, fields: { statement: 'runs 2.4.0' } }],
    };
    expect(checkFacts(ops({ draft_idx: 0, supersedes: ['f1'] }), prompt)).toEqual({
      kind: 'well-formed',
      operations: [{ kind: 'remove', id: 'f1' }],
    });
    for (const bad of [['f2'], ['f1', 'f1']]) {
      expect(checkFacts(ops({ draft_idx: 0, supersedes: bad }), prompt).kind).toBe('malformed');
    }
  });

  test('drafts that nobody decided are a failed write; the fact is stored in any case', () => {
    const stage = taskExtractStage('working');
    const extract = call('extract', stage.compose(['the fact', 'the experience']));
    expect(stage.check(extract.answer, []).kind).toBe('well-formed');
    expect(() => effectOfTask([extract])).toThrow('1 drafts, none was decided');
    const decided = call('experience.reconcile', ops({ draft_idx: 0, action: 'ADD' }));
    const { requests } = effectOfTask([extract, decided]);
    expect(requests.flatMap(({ operations }) => operations)).toEqual([
      { kind: 'add', text: 'the experience\nthe experience' },
      { kind: 'add', text: 'the fact' },
    ]);
  });
});

test('positions become ids under their keys only; what is no position stays', () => {
  const answer = '{"ops":[{"draft_idx":0,"supersedes":["0","1","9"],"reason":"0"}]}';
  expect(JSON.parse(idsFromPositions(answer, ['aaa', 'bbb'], ['supersedes']))).toEqual({
    ops: [{ draft_idx: 0, supersedes: ['aaa', 'bbb', '9'], reason: '0' }],
  });
  expect(idsFromPositions('not json', ['aaa'], ['supersedes'])).toBe('not json');
});
