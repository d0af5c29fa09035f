/** s[t] and the price of a malformed action (definitions §5). */
import { expect, test } from 'vitest';
import { aWrite } from '../testing/trace-builders.ts';
import { chunkScore } from './chunk-score.ts';
import { rewardOptionsSchema } from './options.ts';
import type { Term } from './prm.ts';

const options = rewardOptionsSchema.parse({});
const scored = (value: number): Term => ({ kind: 'scored', value });
const grown = { tokensBefore: 0, tokensAfter: 75, chunkTokens: 100 };

test('s = prm + 2·orm − 0.3·pen', () => {
  const score = chunkScore(aWrite('c', grown), { prm: scored(0.5), orm: scored(0.25) }, options);
  expect(score.score).toBeCloseTo(0.5 + 0.5 - 0.3 * 0.182426, 6);
  expect(score).toMatchObject({ prm: 0.5, orm: 0.25, malformed: 0, voidedTerms: [] });
});

test('the score spans [−0.3, 3]', () => {
  const worst = aWrite('c', { tokensAfter: 1000 });
  expect(chunkScore(worst, { prm: scored(0), orm: scored(0) }, options).score).toBe(-0.3);
  expect(chunkScore(aWrite('c'), { prm: scored(1), orm: scored(1) }, options).score).toBe(3);
});

test('an unrecovered malformed action scores exactly −0.5, whatever the exam said', () => {
  const write = aWrite('c', {
    ...grown,
    outcome: { kind: 'policy-error', reasons: ['unparsable'] },
  });
  const score = chunkScore(write, { prm: scored(1), orm: scored(1) }, options);
  expect(score.score).toBe(-0.5);
  expect(score.malformed).toBe(1);
});

test('a recovered one costs 0.2 times its share of the calls', () => {
  const write = aWrite('c', { outcome: { kind: 'ok', recoveredMalformed: 0.5 } });
  const score = chunkScore(write, { prm: scored(1), orm: { kind: 'absent' } }, options);
  expect(score.score).toBe(0.9);
});

test('an absent term is left out of the record, a voided one is named', () => {
  const score = chunkScore(
    aWrite('c'),
    { prm: { kind: 'absent' }, orm: { kind: 'voided' } },
    options,
  );
  expect(score).toEqual({ pen: 0, malformed: 0, voidedTerms: ['orm'], score: 0 });
});

test('arm no-penalty: growth is free, a malformed action is not', () => {
  const arm = rewardOptionsSchema.parse({ arm: 'no-penalty' });
  const terms = { prm: scored(1), orm: scored(0) };
  expect(chunkScore(aWrite('c', { tokensAfter: 1000 }), terms, arm).score).toBe(1);
  const malformed = aWrite('c', { outcome: { kind: 'policy-error', reasons: ['truncated'] } });
  expect(chunkScore(malformed, terms, arm).score).toBe(-0.5);
});
