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
  '<|last|>',
  '<|existing|>',
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
