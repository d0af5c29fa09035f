/** Small stand-ins for engine, template and stage that the gateway's tests share. */
import type { ChatMessage } from '../../core/chat.ts';
import type { AnswerVerdict, Stage } from '../../core/stage.ts';
import type { Completion, PolicyEngine, SampleOptions } from '../../engine/contract.ts';
import type { Embedder } from '../../llm/embedder.ts';
import type { PromptTemplate } from '../../tokens/contract.ts';
import type { Slot, Writer } from '../contract.ts';

const END = 1_114_112;

/** One token a code point; the stop token is one past the last of them. */
const codePointTemplate: PromptTemplate = {
  stopIds: [END],
  tokenizer: {
    vocabularySize: END + 1,
    hash: 'code-points',
    encode: (text) => [...text].map((character) => character.codePointAt(0) ?? 0),
    decode: (ids) => ids.map((id) => (id === END ? '<end>' : String.fromCodePoint(id))).join(''),
    idOf: () => END,
    count: (text) => [...text].length,
  },
  render: (messages) =>
    codePointTemplate.tokenizer.encode(messages.map(({ content }) => content).join('\n')),
};

interface FakeSample {
  readonly prompt: string;
  readonly options: SampleOptions;
}
export interface FakeEngine extends PolicyEngine {
  readonly samples: FakeSample[];
}

type Say = (prompt: string, options: SampleOptions) => Promise<string> | string;

/** Says what `say` says, cut at `maxTokens` as a real engine would. */
export function fakeEngine(say: Say): FakeEngine {
  const samples: FakeSample[] = [];
  const unused = (): never => {
    throw new Error('the gateway only samples');
  };
  return {
    samples,
    contextLength: 10_000_000,
    vocabularySize: END + 1,
    policyVersion: 7,
    sample: async (promptIds, options): Promise<Completion> => {
      const prompt = codePointTemplate.tokenizer.decode(promptIds);
      samples.push({ prompt, options });
      const all = [...codePointTemplate.tokenizer.encode(await say(prompt, options)), END];
      const tokenIds = all.slice(0, options.maxTokens);
      const stopReason = tokenIds.length < all.length ? 'length' : 'stop';
      return { tokenIds, logprobs: tokenIds.map(() => -0.5), stopReason, policyVersion: 7 };
    },
    score: unused,
    step: unused,
    publish: unused,
    save: unused,
    [Symbol.asyncDispose]: async () => {},
  };
}

export function renderWriter(engine: PolicyEngine, maxTokens = 1000): Writer {
  return { kind: 'render', engine, template: codePointTemplate, maxTokens, temperature: 1 };
}

/** Owns requests whose first message starts with `<name>:`; its answers are JSON arrays of strings. */
export function fakeStage(name: string): Stage {
  return {
    name,
    recognise: ([first]) => first?.content.startsWith(`${name}:`) === true,
    read: () => ({ newMessages: [], existingMemories: [] }),
    view: (messages) => messages,
    check: (answer): AnswerVerdict => {
      try {
        const facts: unknown = JSON.parse(answer);
        if (!Array.isArray(facts)) return { kind: 'malformed', reasons: ['schema-invalid'] };
        const operations = facts.map((text) => ({ kind: 'add' as const, text: String(text) }));
        return { kind: 'well-formed', operations };
      } catch (error) {
        if (error instanceof SyntaxError) return { kind: 'malformed', reasons: ['unparsable'] };
        throw error;
      }
    },
    compose: (texts) => JSON.stringify(texts),
  };
}

export const fakeEmbedder: Embedder = {
  name: 'fake-embedder',
  dimensions: 3,
  embed: async (texts) => texts.map((text) => Float32Array.of(text.length, 0.1, -1 / 3)),
};

export interface Reply {
  readonly status: number;
  readonly json: unknown;
  readonly text: string;
}

export interface PostOptions {
  readonly route?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function post(slot: Slot, body: unknown, options: PostOptions = {}): Promise<Reply> {
  const response = await fetch(`${slot.model.baseUrl}/${options.route ?? 'chat/completions'}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${slot.model.apiKey}`,
      'content-type': 'application/json',
      ...options.headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined };
}

export function ask(content: ChatMessage['content'], more: object = {}): object {
  return { model: 'memwriter', messages: [{ role: 'user', content }], ...more };
}
