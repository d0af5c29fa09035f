/** What one kind of model call of a framework looks like. Adapters supply stages; gateway and conformance use them. */
import type { ChatMessage } from './chat.ts';
import type { PolicyErrorReason } from './outcome.ts';

/** An operation that a well-formed answer asks the framework for. */
export type RequestedOperation =
  | { readonly kind: 'add'; readonly text: string }
  | { readonly kind: 'update'; readonly id: string; readonly text: string }
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'none' };

export type AnswerVerdict =
  | { readonly kind: 'well-formed'; readonly operations: readonly RequestedOperation[] }
  | { readonly kind: 'malformed'; readonly reasons: readonly PolicyErrorReason[] };

/** What a stage's request says to the writer, parsed out of the framework's prompt. */
export interface StageRequest {
  /** What is new: the conversation, one rendered message each; for a stage that merges drafts, the drafts. */
  readonly newMessages: readonly string[];
  /** Ids as offered to the model, with their texts. */
  readonly existingMemories: readonly { readonly id: string; readonly text: string }[];
}

export interface Stage {
  readonly name: string;
  /** True iff this request is of this stage, judged from the request alone. */
  recognise(messages: readonly ChatMessage[]): boolean;
  /** Parses the variable parts. Throws where the request does not have the shape that was recognised. */
  read(messages: readonly ChatMessage[]): StageRequest;
  /**
   * The documented view: each static part known by its hash becomes one task token, every variable part stays whole.
   * A request whose static part is unknown comes back unchanged.
   */
  view(messages: readonly ChatMessage[]): readonly ChatMessage[];
  /**
   * The policy's answer to the view as the framework must see it, where the view renames what is random (ids become
   * positions). An answer that cannot be read comes back unchanged. Absent where the view renames nothing.
   */
  fromView?(answer: string, messages: readonly ChatMessage[]): string;
  /** Pure: an answer that the framework's own parser takes whole is well formed; anything it drops or repairs is not. */
  check(answer: string, messages: readonly ChatMessage[]): AnswerVerdict;
  /**
   * An answer that makes the framework store exactly these texts: used by control banks and tests. A stage that merges
   * drafts adds those of the request's drafts that are among the texts, and throws without the request.
   */
  compose(texts: readonly string[], messages?: readonly ChatMessage[]): string;
  /**
   * For conformance: an answer that names an id which was not offered, or one id twice. Undefined where this request
   * has no such answer; absent where answers of the stage name no ids.
   */
  misname?(
    kind: 'unknown-id' | 'duplicate-id',
    messages: readonly ChatMessage[],
  ): string | undefined;
  /**
   * For conformance: a well-formed answer that makes the framework go on to stages which follow this one only sometimes.
   * Undefined where this request has no such answer; absent where what follows does not hang on the answer.
   */
  provoke?(messages: readonly ChatMessage[]): string | undefined;
}

/** What one well-formed answer asked for, with the texts behind the ids it was offered. */
export interface WriteRequest {
  readonly operations: readonly RequestedOperation[];
  readonly offered: readonly { readonly id: string; readonly text: string }[];
}

/** A recorded call whose answer was well formed. */
export interface CheckedCall extends WriteRequest {
  readonly stage: string;
  readonly answer: string;
  readonly messages: readonly ChatMessage[];
}

/** What a write as a whole should have done to the bank. */
export interface WriteEffect {
  /** In order. */
  readonly requests: readonly WriteRequest[];
  /** Texts that the framework may store or leave out by a documented rule of its own that its answers do not show. */
  readonly optional: readonly string[];
}
