/** What a policy can do on users and values it never saw: copying per kind of value, protocol, chatter, exact memories. */
import type { AnswerVerdict } from '../../src/core/stage.ts';
import type { PolicyEngine } from '../../src/engine/contract.ts';
import { checkMem0Answer } from '../../src/harness/adapters/mem0/answer.ts';
import { createRng } from '../../src/lib/rng.ts';
import type { PromptTemplate } from '../../src/tokens/contract.ts';
import { CAREFUL } from '../../src/world/clerk.ts';
import type { WorldOptionsInput } from '../../src/world/options.ts';
import type { FactTruth } from '../../src/world/truth.ts';
import { createWorldUser } from '../../src/world/world.ts';
import { type ChunkCase, casesOf } from './cases.ts';
import { bankStyle } from './styles.ts';

export interface Tally {
  readonly hits: number;
  readonly of: number;
}

export interface Evaluation {
  readonly chunks: number;
  /** By kind of value; `old` are values that only bank or history show. */
  readonly copied: Readonly<Record<string, Tally>>;
  /** The same, only where a memory begins as the ideal one does up to the value: what a careless writer can, not what he chose. */
  readonly copiedWhereTried: Readonly<Record<string, Tally>>;
  /** Memories that are word for word what the careful clerk writes, of all he writes. */
  readonly exact: Tally;
  readonly protocolErrors: Tally;
  /** Chatter that tempts, kept. */
  readonly chatterKept: Tally;
  /** Memories written, per one of the careful clerk. */
  readonly memories: Tally;
}

export interface EvaluationOptions {
  readonly engine: PolicyEngine;
  readonly template: PromptTemplate;
  readonly users: number;
  /** 0 is greedy. */
  readonly temperature: number;
  readonly heldOutForms: boolean;
  readonly seed: number;
}

const MAX_TOKENS = 200;
const AT_ONCE = 32;

interface Judged {
  readonly chunk: ChunkCase;
  readonly malformed: boolean;
  readonly texts: readonly string[];
}

export async function evaluate(options: EvaluationOptions): Promise<Evaluation> {
  const cases = await evaluationCases(options);
  const judged: Judged[] = [];
  for (let i = 0; i < cases.length; i += AT_ONCE) {
    const group = cases.slice(i, i + AT_ONCE);
    judged.push(...(await Promise.all(group.map((chunk, j) => answer(chunk, i + j, options)))));
  }
  return summarise(judged);
}

/** Banks of evaluation users are filled like those of training: tidy and untidy. */
async function evaluationCases(options: EvaluationOptions): Promise<ChunkCase[]> {
  const { users, seed, heldOutForms } = options;
  const world: WorldOptionsInput = { seed, split: 'eval', sessionsPerUser: 5, heldOutForms };
  const perUser = Array.from({ length: users }, (_, user) => {
    const rng = createRng(`evaluation ${seed} ${user}`);
    return casesOf(createWorldUser(world, user), rng.chance(0.5) ? CAREFUL : bankStyle(rng), rng);
  });
  return (await Promise.all(perUser)).flat();
}

async function answer(
  chunk: ChunkCase,
  index: number,
  { engine, template, temperature, seed }: EvaluationOptions,
): Promise<Judged> {
  const { tokenIds, stopReason } = await engine.sample(template.render(chunk.messages), {
    maxTokens: MAX_TOKENS,
    temperature,
    stopIds: template.stopIds,
    seed: `evaluation ${seed} ${index}`,
  });
  const ended = stopReason === 'stop';
  const text = template.tokenizer.decode(ended ? tokenIds.slice(0, -1) : tokenIds);
  const verdict = checkMem0Answer(text, chunk.prompt);
  const malformed = !ended || verdict.kind === 'malformed';
  return { chunk, malformed, texts: malformed ? [] : storedTexts(verdict) };
}

/** What Mem0 would add; a repetition of what is there is no addition. */
function storedTexts(verdict: AnswerVerdict): string[] {
  if (verdict.kind === 'malformed') return [];
  return verdict.operations.flatMap((operation) =>
    operation.kind === 'add' ? [operation.text] : [],
  );
}

function summarise(judged: readonly Judged[]): Evaluation {
  const copied = new Tallies();
  const copiedWhereTried = new Tallies();
  const exact = { hits: 0, of: 0 };
  const chatterKept = { hits: 0, of: 0 };
  const memories = { hits: 0, of: 0 };
  for (const { chunk, texts } of judged) {
    const facts = chunk.truth.facts.filter(({ repeats }) => repeats === undefined);
    for (const { kind, value, before } of facts.flatMap(valuesOf)) {
      copied.add(
        kind,
        texts.some((text) => text.includes(value)),
      );
      const tried = texts.filter((text) => text.startsWith(before));
      if (before === '' || tried.length === 0) continue;
      copiedWhereTried.add(
        kind,
        tried.some((text) => text.startsWith(before + value)),
      );
    }
    exact.of += facts.length;
    exact.hits += facts.filter((fact) => texts.includes(fact.texts.ideal)).length;
    const tempting = chunk.truth.chatter.filter(({ trap }) => trap !== undefined);
    chatterKept.of += tempting.length;
    chatterKept.hits += tempting.filter(({ stored }) => texts.includes(stored)).length;
    memories.hits += texts.length;
    memories.of += facts.length;
  }
  return {
    chunks: judged.length,
    copied: copied.sorted(),
    copiedWhereTried: copiedWhereTried.sorted(),
    exact,
    protocolErrors: { hits: judged.filter(({ malformed }) => malformed).length, of: judged.length },
    chatterKept,
    memories,
  };
}

class Tallies {
  readonly #byKind = new Map<string, { hits: number; of: number }>();

  add(kind: string, hit: boolean): void {
    const tally = this.#byKind.get(kind) ?? { hits: 0, of: 0 };
    tally.of += 1;
    if (hit) tally.hits += 1;
    this.#byKind.set(kind, tally);
  }

  sorted(): Record<string, Tally> {
    return Object.fromEntries([...this.#byKind].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

interface ExpectedValue {
  readonly kind: string;
  readonly value: string;
  /** The ideal memory up to the value. */
  readonly before: string;
}

/** The values that the ideal memory holds: told in this chunk by kind, those from earlier chunks as `old`. */
function valuesOf(fact: FactTruth): ExpectedValue[] {
  const { ideal } = fact.texts;
  const expected = (kind: string, value: string): ExpectedValue => ({
    kind,
    value,
    before: ideal.slice(0, Math.max(0, ideal.indexOf(value))),
  });
  const told = Object.entries(fact.values)
    .filter(([slot, { core }]) => slot !== 'o' && ideal.includes(core))
    .map(([, { kind, core }]) => expected(kind, core));
  return [...told, ...fact.needs.map((value) => expected('old', value))];
}

function share({ hits, of }: Tally): string {
  return of === 0 ? 'none' : `${((100 * hits) / of).toFixed(1)} % of ${of}`;
}

export function renderEvaluation(title: string, evaluation: Evaluation): string {
  const { copied, copiedWhereTried, exact, protocolErrors, chatterKept, memories } = evaluation;
  const list = (tallies: Readonly<Record<string, Tally>>): string =>
    Object.entries(tallies)
      .map(([kind, tally]) => `${kind} ${share(tally)}`)
      .join(', ');
  return [
    `${title} (${evaluation.chunks} chunks)`,
    `  exact memories ${share(exact)}; protocol errors ${share(protocolErrors)}; chatter kept ${share(chatterKept)}; memories written ${share(memories)}`,
    `  copied: ${list(copied)}`,
    `  copied where tried: ${list(copiedWhereTried)}`,
  ].join('\n');
}
