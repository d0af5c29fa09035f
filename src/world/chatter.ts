/** What nobody should store: filler, small talk, passing commands, musings and the assistant's stock phrases. */
import { CHATTER_ROWS } from './chatter-rows.ts';
import { FILLER } from './filler.ts';
import type { Slot } from './values.ts';

/** A turn that tempts a careless writer. Each topic occurs once in a user's stream, so that its trap is answerable from one chunk. */
export interface ChatterSpec {
  readonly topic: string;
  readonly slots: { readonly v?: Slot };
  readonly user: readonly string[];
  /** The assistant's reply; where `tempting` is `assistant`, the reply is what tempts. */
  readonly replies: readonly string[];
  readonly tempting: 'user' | 'assistant';
  /** As a careless writer would store it. */
  readonly stored: string;
  readonly question: string;
  /** What an answer that fell into the trap contains. */
  readonly trapped: readonly string[];
}

const purchase = { list: 'purchase' } as const;
const REPLIES = ['ok', 'I see', 'sure', 'of course', 'right', 'sounds nice', 'no problem'];

const MUSINGS: readonly Pick<ChatterSpec, 'user' | 'stored' | 'question' | 'trapped'>[] = [
  {
    user: ['maybe I should buy a {v}', 'one day I want a {v}, maybe'],
    stored: 'user may buy a {v}',
    question: 'What about the {v}?',
    trapped: ['{v}'],
  },
  {
    user: ['I saw a {v} in the shop', 'there was a {v} in a window'],
    stored: 'user saw a {v} in a shop',
    question: 'What about the {v}?',
    trapped: ['{v}'],
  },
  {
    user: ['do people still use a {v}', 'is a {v} hard to clean'],
    stored: 'user asked about a {v}',
    question: 'What about the {v}?',
    trapped: ['{v}'],
  },
];

type StockRow = readonly [
  topic: string,
  reply: string,
  stored: string,
  question: string,
  trapped: string,
];

const STOCK_ROWS: readonly StockRow[] = [
  [
    'idea',
    'what a brilliant idea',
    'assistant said the idea is brilliant',
    'How is the idea?',
    'brilliant',
  ],
  [
    'support',
    'I am always ready to support you',
    'assistant is always ready to support',
    'What about support?',
    'ready',
  ],
  [
    'progress',
    'you make amazing progress',
    'assistant said user makes amazing progress',
    'How is the progress?',
    'amazing',
  ],
  [
    'future',
    'a bright future is ahead',
    'assistant sees a bright future',
    'How is the future?',
    'bright',
  ],
  ['wisdom', 'such deep wisdom', 'assistant sees deep wisdom', 'How is the wisdom?', 'deep'],
  [
    'talent',
    'you have a rare talent',
    'assistant said user has a rare talent',
    'How is the talent?',
    'rare',
  ],
  [
    'story',
    'that is a lovely story',
    'assistant said the story is lovely',
    'How is the story?',
    'lovely',
  ],
  [
    'journey',
    'enjoy the exciting journey',
    'assistant wished an exciting journey',
    'How is the journey?',
    'exciting',
  ],
  [
    'spirit',
    'I admire your strong spirit',
    'assistant admires the strong spirit',
    'How is the spirit?',
    'strong',
  ],
  [
    'mood',
    'your happy mood is catching',
    'assistant noticed a happy mood',
    'How is the mood?',
    'happy',
  ],
];

const user = CHATTER_ROWS.map(
  ([topic, slot, forms, stored, question, trapped]): ChatterSpec => ({
    topic,
    slots: slot === null ? {} : { v: slot },
    user: forms,
    replies: REPLIES,
    tempting: 'user',
    stored,
    question,
    trapped,
  }),
);

const stock = STOCK_ROWS.map(
  ([topic, reply, stored, question, trapped]): ChatterSpec => ({
    topic,
    slots: {},
    user: FILLER.user,
    replies: [reply],
    tempting: 'assistant',
    stored,
    question,
    trapped: [trapped],
  }),
);

/** Each occurs at most once in a user's stream. */
export const chatterSpecs: readonly ChatterSpec[] = [...user, ...stock];

/** May recur: their topic is the drawn word. */
export const musings: readonly ChatterSpec[] = MUSINGS.map((row) => ({
  ...row,
  topic: '{v}',
  slots: { v: purchase },
  replies: REPLIES,
  tempting: 'user',
}));
