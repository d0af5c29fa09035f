/** The toy policy's language: one token per kind of message, one per decision about it. */
import type { Embedder } from '../llm/embedder.ts';
import type { PromptTemplate, Tokenizer } from '../tokens/contract.ts';
import { readRequest } from './keep-stage.ts';

/** A message's kind is its first word after the role. */
export const KINDS = ['FACT', 'CHAT', 'OTHER'] as const;
const MAX_MESSAGES = 32;

export const ASK = KINDS.length;
export const END = ASK + 1;
export const JUNK = ASK + 2;
const DECISIONS = ASK + 3;
export const VOCABULARY_SIZE = DECISIONS + 2 * MAX_MESSAGES;

export function keepId(position: number): number {
  return DECISIONS + 2 * position;
}

export function skipId(position: number): number {
  return DECISIONS + 2 * position + 1;
}

export const toyTokenizer: Tokenizer = {
  vocabularySize: VOCABULARY_SIZE,
  hash: 'toy',
  encode: () => {
    throw new Error('toy text is never re-tokenised');
  },
  decode: (ids) => ids.map(decodeToken).join(''),
  idOf: (token) => {
    if (token !== '<end>') throw new Error(`no toy token ${token}`);
    return END;
  },
  count: (text) => text.split(/\s+/).filter((word) => word !== '').length,
};

export const toyTemplate: PromptTemplate = {
  tokenizer: toyTokenizer,
  stopIds: [END],
  render: (messages) => [...readRequest(messages).newMessages.map(kindOf), ASK],
};

function kindOf(message: string): number {
  const index = KINDS.findIndex((kind) => message.includes(`: ${kind} `));
  return index === -1 ? KINDS.indexOf('OTHER') : index;
}

function decodeToken(id: number): string {
  if (id === END) return '<end>';
  if (id < DECISIONS) return '???\n';
  const position = Math.floor((id - DECISIONS) / 2);
  return id === keepId(position) ? `keep ${position}\n` : `skip ${position}\n`;
}

/** The toy world needs no meaning, only vectors. */
export const toyEmbedder: Embedder = {
  name: 'toy-embedder',
  dimensions: 2,
  embed: async (texts) => texts.map(({ length }) => Float32Array.of(length, 1)),
};
