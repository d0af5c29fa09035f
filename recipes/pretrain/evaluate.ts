/** What a policy can do on users and values it never saw: copying per kind of value, protocol, chatter, exact answers. */
import type { PolicyEngine } from '../../src/engine/contract.ts';
import { createRng } from '../../src/lib/rng.ts';
import type { PromptTemplate } from '../../src/tokens/contract.ts';
import { CAREFUL } from '../../src/world/clerk.ts';
import type { WorldOptionsInput } from '../../src/world/options.ts';
import type { FactTruth } from '../../src/world/truth.ts';
import { createWorldUser } from '../../src/world/world.ts';
import { bankOf, casesOf, type TaskCase } from './cases.ts';
import { bankStyle } from './styles.ts';
import { EXTRACTIONS, MERGES } from './tasks/tasks.ts';

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
  /** Memories that are word for word what the careful clerk writes, of all he writes; decisions, of all merges. */
  readonly exact: Tally;
  readonly protocolErrors: Tally;
  /** By task: the two above. */
  readonly tasks: Readonly<Record<string, { readonly exact: Tally; readonly errors: Tally }>>;
  /** Chatter that tempts, kept. */
  readonly chatterKept: Tally;
  /** Memories written, per one of the careful clerk. */
  readonly memories: Tally;
}

export interface EvaluationOptions {
  readonly engine: PolicyEngine;
  readonly template: PromptTemplate;
  /** Of each scene; every chunk is shown as the request of every task. */
  readonly users: number;
  /** By name; all of them where absent. */
  readonly tasks?: readonly string[];
  /** 0 is greedy. */
  readonly temperature: number;
  readonly heldOutForms: boolean;
  readonly seed: number;
}

const MAX_TOKENS = 320;
const AT_ONCE = 32;
const SCENES = ['chat', 'working', 'coding'] as const;

interface Judged {
  readonly chunk: TaskCase;
  readonly malformed: boolean;
  readonly text: string;
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
async function evaluationCases(options: EvaluationOptions): Promise<TaskCase[]> {
  const { users, seed, heldOutForms, tasks } = options;
  const perUser = SCENES.flatMap((scene) => {
    const fits = (task: { name: string; scenes: readonly string[] }) =>
      task.scenes.includes(scene) && (tasks === undefined || tasks.includes(task.name));
    const extractions = EXTRACTIONS.filter(fits);
    const merges = MERGES.filter(fits);
    if (extractions.length + merges.length === 0) return [];
    const world: WorldOptionsInput = {
      seed,
      split: 'eval',
      scene,
      sessionsPerUser: 5,
      heldOutForms,
    };
    return Array.from({ length: users }, async (_, user) => {
      const rng = createRng(`evaluation ${seed} ${user}`);
      const bank = rng.chance(0.5) ? CAREFUL : bankStyle(rng);
      const other = bankOf(createWorldUser(world, user + users), bank, rng.fork('others'));
      return casesOf(createWorldUser(world, user), {
        choose: () => ({ extractions, merges }),
        bank,
        strangers: merges.length > 0 && rng.chance(0.5) ? other.slice(0, 3) : [],
        rng,
      });
    });
  });
  return (await Promise.all(perUser)).flat();
}

async function answer(
  chunk: TaskCase,
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
  return { chunk, text, malformed: !ended || chunk.check(text).kind === 'malformed' };
}

function summarise(judged: readonly Judged[]): Evaluation {
  const copied = new Tallies();
  const copiedWhereTried = new Tallies();
  const exact = new Tallies();
  const errors = new Tallies();
  const chatterKept = { hits: 0, of: 0 };
  const memories = { hits: 0, of: 0 };
  for (const { chunk, malformed, text } of judged) {
    errors.add(chunk.task, malformed);
    if (chunk.extraction === undefined) {
      exact.add(chunk.task, text === chunk.answer(CAREFUL, createRng('careful')));
      continue;
    }
    const texts = malformed ? [] : chunk.extraction.texts(text);
    const { truth } = chunk.extraction;
    const facts = truth.facts.filter(({ repeats }) => repeats === undefined);
    for (const { kind, value, before } of facts.flatMap(valuesOf)) {
      copied.add(
        kind,
        texts.some((one) => one.includes(value)),
      );
      const tried = texts.filter((one) => one.startsWith(before));
      if (before === '' || tried.length === 0) continue;
      copiedWhereTried.add(
        kind,
        tried.some((one) => one.startsWith(before + value)),
      );
    }
    for (const fact of facts) exact.add(chunk.task, texts.includes(fact.texts.ideal));
    const tempting = truth.chatter.filter(({ trap }) => trap !== undefined);
    chatterKept.of += tempting.length;
    chatterKept.hits += tempting.filter(({ stored }) => texts.includes(stored)).length;
    memories.hits += texts.length;
    memories.of += facts.length;
  }
  const byTask = exact.sorted();
  const tasks = Object.fromEntries(
    Object.entries(errors.sorted()).map(([task, tally]) => [
      task,
      { exact: byTask[task] ?? { hits: 0, of: 0 }, errors: tally },
    ]),
  );
  return {
    chunks: judged.length,
    copied: copied.sorted(),
    copiedWhereTried: copiedWhereTried.sorted(),
    exact: exact.total(),
    protocolErrors: errors.total(),
    tasks,
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

  total(): Tally {
    const all = [...this.#byKind.values()];
    const sum = (field: keyof Tally) => all.reduce((count, tally) => count + tally[field], 0);
    return { hits: sum('hits'), of: sum('of') };
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
    `${title} (${evaluation.chunks} requests)`,
    `  exact ${share(exact)}; protocol errors ${share(protocolErrors)}; chatter kept ${share(chatterKept)}; memories written ${share(memories)}`,
    `  copied: ${list(copied)}`,
    `  copied where tried: ${list(copiedWhereTried)}`,
    ...Object.entries(evaluation.tasks).map(
      ([task, tally]) =>
        `  ${task}: exact ${share(tally.exact)}, protocol errors ${share(tally.errors)}`,
    ),
  ].join('\n');
}
