/** Answers of EverOS's stages: what its parsers would drop, cut or ignore is malformed. */
import { expect, test } from 'vitest';
import { checkBoundary, episodeStage, factsStage } from './stages.ts';
import {
  checkCompact,
  checkFirstProfile,
  checkProfileUpdate,
  renderProfileView,
} from './stages-profile.ts';

const talk = { newMessages: ['[1] a', '[2] b', '[3] c'] };

test.each([
  ['no cut', [], true],
  ['rising cuts inside', [1, 2], true],
  ['a cut after the last message', [3], false],
  ['a cut before the first', [0], false],
  ['cuts out of order', [2, 1], false],
  ['one cut twice', [1, 1], false],
])('boundaries: %s', (_name, boundaries, whole) => {
  const answer = JSON.stringify({ reasoning: 'r', boundaries, should_wait: false });
  expect(checkBoundary(answer, talk).kind === 'well-formed').toBe(whole);
});

test('a brace inside of a string derails the framework; as an escape it passes', () => {
  const bad = '{"title":"t","content":"uses { here"}';
  expect(episodeStage.check(bad, [])).toEqual({ kind: 'malformed', reasons: ['unparsable'] });
  const composed = episodeStage.compose(['uses { and } and `code` and <think>']);
  expect(episodeStage.check(composed, [])).toEqual({
    kind: 'well-formed',
    operations: [{ kind: 'add', text: 'uses { and } and `code` and <think>' }],
  });
});

test('text after a heading would be lost', () => {
  const episode = JSON.stringify({ title: 't', content: 'before\n### Heading\nafter' });
  expect(episodeStage.check(episode, []).kind).toBe('malformed');
  const facts = { time: 'now', atomic_fact: ['### fact'] };
  expect(factsStage.check(JSON.stringify({ atomic_facts: facts }), []).kind).toBe('malformed');
});

test('the first text is the episode, the others its facts', () => {
  expect(factsStage.check(factsStage.compose(['episode', 'one', 'two']), [])).toEqual({
    kind: 'well-formed',
    operations: [
      { kind: 'add', text: 'one' },
      { kind: 'add', text: 'two' },
    ],
  });
});

const home = { category: 'Home', description: 'lives in Oslo', evidence: 'said' };
const mobile = { trait: 'mobile', description: 'moves', basis: 'b', evidence: 'e' };
const current = { explicit_info: [home], implicit_traits: [mobile] };

test('a profile is listed by category or trait', () => {
  const answer = JSON.stringify({ explicit_info: [home], implicit_traits: [mobile] });
  expect(checkFirstProfile(answer)).toEqual({
    kind: 'well-formed',
    operations: [
      { kind: 'add', text: 'Home: lives in Oslo' },
      { kind: 'add', text: 'mobile: moves' },
    ],
  });
});

test('an update keeps what it does not name; indices must be there, and before any deletion', () => {
  const ops = (...operations: readonly object[]): string => JSON.stringify({ operations });
  const update = {
    action: 'update',
    type: 'explicit_info',
    index: 0,
    data: { description: 'Bergen' },
  };
  const removal = { action: 'delete', type: 'implicit_traits', index: 0 };
  expect(checkProfileUpdate(ops(update, removal), current)).toEqual({
    kind: 'well-formed',
    operations: [
      { kind: 'update', id: 'explicit_info/0', text: 'Home: Bergen' },
      { kind: 'remove', id: 'implicit_traits/0' },
    ],
  });
  for (const [answer, reason] of [
    [ops({ ...update, index: 4 }), 'unknown-id'],
    [ops(removal, update), 'schema-invalid'],
    [ops(update, update), 'schema-invalid'],
    [ops({ ...update, index: '0' }), 'schema-invalid'],
  ] as const) {
    expect(checkProfileUpdate(answer, current)).toEqual({ kind: 'malformed', reasons: [reason] });
  }
});

test('a compacted profile takes the place of the whole one', () => {
  const item = { category: 'home', description: 'lives in Oslo', evidence: '' };
  const profile = { explicit_info: [item, { ...item, category: 'work' }], implicit_traits: [] };
  const kept = { explicit_info: [item], implicit_traits: [], compact_note: 'merged' };
  expect(checkCompact(JSON.stringify(kept), profile)).toEqual({
    kind: 'well-formed',
    operations: [
      { kind: 'remove', id: 'explicit_info/0' },
      { kind: 'remove', id: 'explicit_info/1' },
      { kind: 'add', text: 'home: lives in Oslo' },
    ],
  });
  expect(checkCompact('{"explicit_info":[]}', profile)).toMatchObject({ kind: 'malformed' });
});

test('no profile yet is another request than an empty one, and its view says so', () => {
  const empty = { explicit_info: [], implicit_traits: [] };
  const newMessages = ['[2024-05-08 10:00:00] user(user_id:user): hello'];
  const first = renderProfileView({ current: undefined, newMessages });
  expect(renderProfileView({ current: empty, newMessages })).not.toEqual(first);
});
