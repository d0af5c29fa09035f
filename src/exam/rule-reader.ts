/** The embedded reader: lexical and extractive, it sees question and block and nothing else. */
import type { Reader } from './contract.ts';
import { NO_RECORD } from './no-record.ts';
import { contentStems, contentWords, stem } from './text.ts';

export interface RuleReaderOptions {
  /** Share of the question's weight that a line must cover to be an answer. */
  readonly minCoverage: number;
  /** Lines that cover at least this share of what the best line covers are part of the answer. */
  readonly nearBest: number;
  readonly maxLines: number;
}

const DEFAULTS: RuleReaderOptions = { minCoverage: 0.5, nearBest: 0.9, maxLines: 3 };

/** Words that say what kind of thing is asked for: they tell lines apart less than the topic does. */
const KIND_WORDS: ReadonlySet<string> = new Set(
  `address amount code colour color count date day detail end file hour kind level month name number password path
  people person place plan price size spot thing time title town type value version week word year use go get live
  like`
    .split(/\s+/)
    .map(stem),
);
const KIND_WEIGHT = 0.4;

/** Words of asking, not of the topic: which of two values is meant, and how large it is. */
const IGNORED: ReadonlySet<string> = new Set(
  `not no never before earlier old new previous previously former change changes changed current today still mentioned
  high big long far often large tall`.split(/\s+/),
);

/** Answers with the best lines of the block in block order, or says that there is no record. */
export function createRuleReader(options: Partial<RuleReaderOptions> = {}): Reader {
  const settled = { ...DEFAULTS, ...options };
  const stemsOf = remembering(contentStems);
  return {
    name: `rule-reader/1 ${JSON.stringify(settled)}`,
    answer: (question, block) =>
      Promise.resolve(answerFrom(question, readPage(block, stemsOf), settled)),
  };
}

export function answerByRule(
  question: string,
  block: string,
  options: RuleReaderOptions = DEFAULTS,
): string {
  return answerFrom(question, readPage(block, contentStems), options);
}

function answerFrom(question: string, page: Page, options: RuleReaderOptions): string {
  const whole = select(question, page, options);
  const parts = partsOf(question);
  const chosen = parts.length > 1 && whole.coverage < 1 ? union(parts, page, options) : whole.lines;
  const picked = chosen.length > 0 ? chosen : whole.lines;
  if (picked.length === 0) return NO_RECORD;
  return [...picked]
    .sort((a, b) => a.position - b.position)
    .map(({ text }) => text)
    .join('\n');
}

interface Line {
  readonly position: number;
  /** The memory, without the date that the framework put before it: that is not the writer's doing. */
  readonly text: string;
  readonly stems: ReadonlySet<string>;
}

interface Page {
  readonly lines: readonly Line[];
  /** In how many lines a stem occurs. */
  readonly frequency: ReadonlyMap<string, number>;
}

const DATED =
  /^\s*(?:[-*•]\s*)?\[?(\d{4}-\d{2}-\d{2})(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?\]?\s*:\s*/;

type StemsOf = (line: string) => readonly string[];

/** The same memories come back in block after block. */
function remembering(stemsOf: StemsOf, capacity = 20_000): StemsOf {
  const known = new Map<string, readonly string[]>();
  return (line) => {
    const before = known.get(line);
    if (before !== undefined) return before;
    if (known.size >= capacity) known.clear();
    const stems = stemsOf(line);
    known.set(line, stems);
    return stems;
  };
}

function readPage(block: string, stemsOf: StemsOf): Page {
  const seen = new Set<string>();
  const lines = block.split('\n').flatMap((raw, position): Line[] => {
    const text = raw.replace(DATED, '').trim();
    if (text === '' || seen.has(text)) return [];
    seen.add(text);
    return [{ position, text, stems: new Set(stemsOf(text)) }];
  });
  const frequency = new Map<string, number>();
  for (const { stems } of lines) {
    for (const word of stems) {
      const before = frequency.get(word);
      frequency.set(word, before === undefined ? 1 : before + 1);
    }
  }
  return { lines, frequency };
}

interface Selection {
  /** What the best line covers, in [0, 1]. */
  readonly coverage: number;
  readonly lines: readonly Line[];
}

function select(question: string, page: Page, options: RuleReaderOptions): Selection {
  const words = topicOf(question);
  const weights = words.map((word) => weightOf(word, page));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total === 0) return { coverage: 0, lines: [] };
  const scored = page.lines
    .map((line) => ({ line, coverage: covered(words, weights, line) / total }))
    .sort((a, b) => b.coverage - a.coverage || a.line.position - b.line.position);
  const coverage = scored[0] === undefined ? 0 : scored[0].coverage;
  const bar = Math.max(options.minCoverage, options.nearBest * coverage);
  const lines = scored
    .filter((entry) => entry.coverage >= bar)
    .slice(0, options.maxLines)
    .map(({ line }) => line);
  return { coverage, lines };
}

function topicOf(question: string): string[] {
  const words = contentWords(question).filter((word) => !IGNORED.has(word));
  return [...new Set(words.map(stem))];
}

/** Rarity in the block; a word that the block lacks weighs most. */
function weightOf(word: string, { lines, frequency }: Page): number {
  const count = frequency.get(word);
  const rarity = Math.log(1 + lines.length / (count === undefined ? 0.5 : count));
  return KIND_WORDS.has(word) ? KIND_WEIGHT * rarity : rarity;
}

function covered(words: readonly string[], weights: readonly number[], line: Line): number {
  return weights.reduce(
    (sum, weight, i) => (line.stems.has(words[i] ?? '') ? sum + weight : sum),
    0,
  );
}

/** "Who is the manager and what is the door code?" asks two things; a part without topic words is no part. */
function partsOf(question: string): string[] {
  return question
    .split(/[,;?]\s*|\s+(?:and|as well as)\s+/i)
    .filter((part) => topicOf(part).length > 0);
}

function union(parts: readonly string[], page: Page, options: RuleReaderOptions): Line[] {
  return [...new Set(parts.flatMap((part) => select(part, page, options).lines))];
}
