/** Names of the tokens that only we may emit, and the escape that keeps conversation text from spelling one. */

/** Roles and ends: the chat template alone writes them. */
export const CONTROL_TOKENS = [
  '<|pad|>',
  '<|end|>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
] as const;

/** Task tokens and section markers: a stage's view writes them around escaped variable parts. */
export const MARKER_TOKENS = [
  '<|mem0.extract|>',
  '<|mem0-1x.facts|>',
  '<|mem0-1x.update|>',
  '<|hy.chat.extract|>',
  '<|hy.chat.reconcile|>',
  '<|hy.working.extract|>',
  '<|hy.coding.extract|>',
  '<|hy.experience.reconcile|>',
  '<|hy.fact.reconcile|>',
  '<|hy.fact.summary|>',
  '<|memos.extract|>',
  '<|everos.boundary|>',
  '<|everos.episode|>',
  '<|everos.facts|>',
  '<|everos.profile|>',
  '<|everos.profile-compact|>',
  '<|a-mem.analyze|>',
  '<|a-mem.evolve|>',
  '<|memoryos.continuity|>',
  '<|memoryos.meta|>',
  '<|memoryos.summary|>',
  '<|memoryos.profile|>',
  '<|memoryos.knowledge|>',
  '<|last|>',
  '<|existing|>',
  '<|drafts|>',
  '<|profile|>',
  '<|new|>',
  '<|date|>',
  '<|reserved.0|>',
  '<|reserved.1|>',
  '<|reserved.2|>',
  '<|reserved.3|>',
  '<|reserved.4|>',
  '<|reserved.5|>',
  '<|reserved.6|>',
  '<|reserved.7|>',
] as const;

/** Text from outside in a form that no longer spells one of our tokens: `<|` becomes `< |`. */
export function escapeSpecials(text: string): string {
  return text.replaceAll('<|', '< |');
}
