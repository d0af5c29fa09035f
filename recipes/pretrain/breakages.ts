/** The ways in which a careless writer breaks the JSON that it was asked for. */
import type { Rng } from '../../src/lib/rng.ts';
import type { TaskCase } from './cases.ts';

const ATTEMPTS = 8;
const SMALL_TALK = ['nothing to store', 'ok, I will remember that', 'sure'];

/** An answer that loses all or a part of what it says. A stage that takes any text gets it as it is. */
export function breakAnswer(answer: string, { check }: Pick<TaskCase, 'check'>, rng: Rng): string {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const broken = rng.pick(BREAKAGES)(answer, rng);
    if (check(broken).kind === 'malformed') return broken;
  }
  return answer;
}

const cutAt = (answer: string, rng: Rng): string =>
  answer.slice(0, rng.int(10, Math.max(10, answer.length - 6)));

const BREAKAGES: readonly ((answer: string, rng: Rng) => string)[] = [
  (answer) => answer.slice(0, -1),
  (answer) => answer.slice(0, -2),
  cutAt,
  cutAt,
  /** The first key in the plural. */
  (answer) => answer.replace(/"([a-z_ ]+)":/, '"$1s":'),
  /** One key, wherever it stands, by another name. */
  (answer, rng) => {
    const keys = [...new Set([...answer.matchAll(/"([a-z_]+)":/g)].map(([, key]) => key))];
    return keys.length === 0 ? answer : answer.replaceAll(`"${rng.pick(keys)}":`, '"content_":');
  },
  /** A field less, a quotation mark less. */
  (answer) => answer.replace(/"[a-z_]+":"[^"]*",/, ''),
  (answer) => answer.replaceAll('","', ',"'),
  /** What is said, as a list in prose. */
  (answer) =>
    [...answer.matchAll(/"([^"]* [^"]*)"/g)].map(([, text]) => `- ${text}`).join('\n') || 'sure',
  (_answer, rng) => rng.pick(SMALL_TALK),
];
