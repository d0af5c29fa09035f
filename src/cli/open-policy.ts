/** A policy directory as a command wants it: with another context length where the configuration gives one. */
import { type LocalPolicy, loadPolicy } from '../engine/local/policy-directory.ts';

/** A longer context than the policy's own works by its rotary positions alone: it was not trained there. */
export async function openPolicy(
  directory: string,
  { contextLength }: { readonly contextLength?: number | undefined },
): Promise<LocalPolicy> {
  const policy = await loadPolicy(directory);
  if (contextLength === undefined) return policy;
  const config = { ...policy.model.config, contextLength };
  return { ...policy, model: { ...policy.model, config } };
}
