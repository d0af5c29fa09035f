/** What all stages do alike: a request is a stage's where its prompt can be read, and is viewed as what was read. */
import type { ChatMessage } from '../core/chat.ts';
import type { Stage } from '../core/stage.ts';

export interface PromptStage<P> {
  readonly stage: Pick<Stage, 'name' | 'recognise' | 'view'>;
  /** The parts of a request that was recognised. Throws at any other. */
  promptOf(messages: readonly ChatMessage[] | undefined): P;
}

/** `read` is undefined for a request of another stage. */
export function promptStage<P>(
  name: string,
  read: (messages: readonly ChatMessage[]) => P | undefined,
  render: (prompt: P) => ChatMessage[],
): PromptStage<P> {
  return {
    stage: {
      name,
      recognise: (messages) => read(messages) !== undefined,
      view: (messages) => {
        const prompt = read(messages);
        return prompt === undefined ? messages : render(prompt);
      },
    },
    promptOf: (messages) => {
      const prompt = messages && read(messages);
      if (prompt === undefined) throw new Error(`not a request of stage "${name}"`);
      return prompt;
    },
  };
}
