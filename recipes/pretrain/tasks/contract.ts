/** What the start weights learn: one task for each kind of request that a framework makes. */
import type { ChatMessage } from '../../../src/core/chat.ts';
import type { Message, Scene } from '../../../src/core/conversation.ts';
import type { AnswerVerdict } from '../../../src/core/stage.ts';
import type { ClerkMemory } from '../../../src/world/clerk.ts';
import type { FactTruth } from '../../../src/world/truth.ts';

/** A memory as a bank holds it. */
export interface Kept extends ClerkMemory {
  /** ISO time of the conversation it comes from. */
  readonly at: string;
}

/** A chunk and all that a framework could show beside it. */
export interface Scenery {
  readonly at: string;
  readonly scene: Scene;
  readonly messages: readonly Message[];
  /** Messages of the user's earlier chunks, oldest first. */
  readonly earlier: readonly (readonly Message[])[];
  /** The bank before this chunk, oldest first. */
  readonly kept: readonly Kept[];
}

interface Task<P> {
  /** As the model is told it: the view's task token without its brackets. */
  readonly name: string;
  /** The framework's own request; undefined for one of another kind. */
  read(messages: readonly ChatMessage[]): P | undefined;
  view(prompt: P): readonly ChatMessage[];
  check(answer: string, prompt: P): AnswerVerdict;
}

/** Conversation in, memories out. */
export interface Extraction<P> extends Task<P> {
  readonly kind: 'extraction';
  readonly scenes: readonly Scene[];
  prompt(scenery: Scenery): Promise<P>;
  /** What the prompt shows beside the chunk: a reference to anything else cannot be resolved. */
  known(prompt: P): readonly string[];
  /** Whether the request shows the message that states the fact; all of them where absent. */
  shows?(fact: FactTruth): boolean;
  write(memories: readonly ClerkMemory[], prompt: P): string;
  /** The memories in a well-formed answer. */
  texts(answer: string): readonly string[];
}

/** Drafts in, decisions out: the prompt holds all that is to be known, so the clerk's answer follows from it. */
export interface Merge<P> extends Task<P> {
  readonly kind: 'merge';
  readonly scenes: readonly Scene[];
  /** Undefined where the framework would not ask. Positions stand for ids. */
  prompt(drafts: readonly ClerkMemory[], scenery: Scenery): Promise<P | undefined>;
  decide(prompt: P): string;
}
