/** A configuration may give a policy another context; nothing else about it changes. */
import { expect, test } from 'vitest';
import { loadPolicy } from '../engine/local/policy-directory.ts';
import { openPolicy } from './open-policy.ts';

const DIRECTORY = 'test/vectors/llama-tied-grouped';

test('the context is the policy’s own unless one is given', async () => {
  const own = await loadPolicy(DIRECTORY);
  expect(await openPolicy(DIRECTORY, {})).toEqual(own);
  const contextLength = 4 * own.model.config.contextLength;
  const { model } = await openPolicy(DIRECTORY, { contextLength });
  expect(model).toEqual({ ...own.model, config: { ...own.model.config, contextLength } });
});
