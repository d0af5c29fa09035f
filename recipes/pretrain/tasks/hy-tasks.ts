/** Hy-Memory's working and coding scenes: extraction, the two merges, the summary of a chain of facts. */

import type { Message } from '../../../src/core/conversation.ts';
import {
  type MergePrompt,
  readExperienceMerge,
  readFactMerge,
  readSummary,
  readTaskExtract,
  type TaskExtractPrompt,
} from '../../../src/harness/adapters/hy-memory/prompts-tasks.ts';
import {
  checkExperiences,
  checkFacts,
  renderMergeView,
} from '../../../src/harness/adapters/hy-memory/stages-merge.ts';
import {
  factSummaryStage,
  renderSummaryView,
  renderTaskExtractView,
  taskExtractStage,
} from '../../../src/harness/adapters/hy-memory/stages-tasks.ts';
import { composeJson } from '../../../src/harness/json-answer.ts';
import type { ClerkMemory } from '../../../src/world/clerk.ts';
import { nearest } from '../nearest.ts';
import type { Extraction, Kept, Merge, Scenery } from './contract.ts';
import { decide, joined, parted, replaces } from './memories.ts';
import { dayOf } from './messages.ts';

const SCENES = ['working', 'coding'] as const;
const LAST_USER_TURNS = 5;
const EXPERIENCE_CANDIDATES = 3;
const EXPERIENCE_NEAR = 0.4;
const FACT_CANDIDATES = 5;
const FACT_NEAR = 0.3;
/** Of an ISO time: YYYY-MM-DDTHH:MM:SS. */
const SECONDS = 19;
const CONFIDENCE = 0.9;

type TaskScene = (typeof SCENES)[number];

/** What a tool found out is an experience; all else that was said is the write's one fact. */
function hyTaskExtract(scene: TaskScene): Extraction<TaskExtractPrompt> {
  const stage = taskExtractStage(scene);
  return {
    kind: 'extraction',
    name: `hy.${scene}.extract`,
    scenes: [scene],
    read: (messages) => readTaskExtract(scene, messages),
    view: (prompt) => renderTaskExtractView(scene, prompt),
    check: (answer) => stage.check(answer, []),
    prompt: async ({ messages, earlier }) => ({
      last: lastTurns(earlier),
      newMessages: messages.map(taskLine),
    }),
    known: ({ last }) => [last],
    write: (memories) => {
      const said = saidIn(memories);
      return composeJson({
        experiences: memories.flatMap(({ topic, text }) =>
          topic === undefined
            ? []
            : [
                {
                  task: topic,
                  search_keys: [topic],
                  solution: text,
                  boundary_envs: '',
                  confidence: CONFIDENCE,
                },
              ],
        ),
        fact: said.length === 0 ? null : { statement: joined(said), files: [] },
      });
    },
    texts: (answer) => {
      const { experiences, fact } = JSON.parse(answer) as TaskAnswer;
      return [...experiences.map(({ solution }) => solution), ...parted(fact?.statement ?? '')];
    },
  };
}

interface TaskAnswer {
  readonly experiences: readonly { readonly solution: string }[];
  readonly fact: { readonly statement: string } | null;
}

export const hyWorkingExtract = hyTaskExtract('working');
export const hyCodingExtract = hyTaskExtract('coding');

/** `[position] role: text`; calls stand in brackets, and nobody is told which tool answered. */
function taskLine({ role, text, spokenText, toolCalls = [] }: Message, position: number): string {
  const calls = toolCalls.map(({ name, arguments: input }) => `${name}(${input})`).join(', ');
  const tools = calls === '' ? '' : `  [tools: ${calls}]`;
  return `[${position}] ${role === 'tool' ? 'tool(?)' : role}: ${spokenText ?? text}${tools}`;
}

function lastTurns(earlier: Scenery['earlier']): string {
  const messages = earlier.flat();
  const starts = messages.flatMap(({ role }, i) => (role === 'user' ? [i] : []));
  return messages
    .slice(starts.at(-LAST_USER_TURNS) ?? 0)
    .map(taskLine)
    .join('\n');
}

export const hyExperienceMerge: Merge<MergePrompt> = {
  kind: 'merge',
  name: 'hy.experience.reconcile',
  scenes: SCENES,
  read: readExperienceMerge,
  view: (prompt) => renderMergeView('<|hy.experience.reconcile|>', prompt),
  check: checkExperiences,
  prompt: async (drafts, { kept }) => {
    const experiences = drafts.filter(isExperience);
    if (experiences.length === 0) return undefined;
    const known = kept.filter(isExperience);
    const topics = known.map(topicOf);
    const limits = { limit: EXPERIENCE_CANDIDATES, atLeast: EXPERIENCE_NEAR };
    const found = await Promise.all(
      experiences.map((memory) => nearest(topicOf(memory), topics, limits)),
    );
    const rows = found.flatMap((hits, draft) =>
      hits.map(({ index }) => ({ draft, memory: known[index] as Kept })),
    );
    return {
      drafts: experiences.map((memory) => ({
        task: topicOf(memory),
        // Keys that say no more than the task are left out.
        search_keys: '',
        solution: memory.text,
        boundary_envs: '',
      })),
      candidates: rows.map(({ draft, memory }, i) => ({
        id: String(i),
        draft,
        fields: {
          task: topicOf(memory),
          solution: memory.text,
          boundary_envs: '',
          updated_at: memory.at.slice(0, SECONDS),
        },
      })),
    };
  },
  decide: (prompt) =>
    composeJson({
      ops: decideByDraft(prompt, 'solution').map(({ decision, id }, draft_idx) => {
        if (decision === 'add') return { draft_idx, action: 'ADD' };
        return decision === 'none'
          ? { draft_idx, action: 'SKIP' }
          : { draft_idx, action: 'UPDATE', target_experience_id: id };
      }),
    }),
};

export const hyFactMerge: Merge<MergePrompt> = {
  kind: 'merge',
  name: 'hy.fact.reconcile',
  scenes: SCENES,
  read: readFactMerge,
  view: (prompt) => renderMergeView('<|hy.fact.reconcile|>', prompt),
  check: checkFacts,
  prompt: async (drafts, { kept }) => {
    const statement = joined(saidIn(drafts));
    const found = await nearStatements(statement, kept, FACT_CANDIDATES);
    if (found.length === 0) return undefined;
    return {
      drafts: [{ subject: '', statement }],
      candidates: found.map(({ at, text }, i) => ({
        id: String(i),
        draft: 0,
        fields: { subject: '', statement: text, created_at: at.slice(0, SECONDS) },
      })),
    };
  },
  /** An old statement goes where the new one says all of it, or what became of it. */
  decide: ({ drafts, candidates }) => {
    const said = parted(drafts[0]?.['statement'] ?? '');
    const gone = candidates.filter(({ fields }) =>
      parted(fields['statement'] ?? '').every((old) =>
        said.some((text) => text === old || replaces(text, old)),
      ),
    );
    return composeJson({ ops: [{ draft_idx: 0, supersedes: gone.map(({ id }) => id) }] });
  },
};

/** The facts of a chain, oldest first: the newest says what holds now. */
export const hyFactSummary: Merge<readonly string[]> = {
  kind: 'merge',
  name: 'hy.fact.summary',
  scenes: SCENES,
  read: readSummary,
  view: renderSummaryView,
  check: (answer) => factSummaryStage.check(answer, []),
  prompt: async (drafts, { kept }) => {
    const statement = joined(saidIn(drafts));
    const [old] = await nearStatements(statement, kept, 1);
    return old && [`(${dayOf(old.at)}) ${old.text}`, `(now) ${statement}`];
  },
  decide: (entries) => (entries.at(-1) ?? '').replace(/^\([^)]*\) /, ''),
};

interface Statement {
  readonly at: string;
  readonly text: string;
}

/** One a chunk: what was said in it. */
async function nearStatements(
  statement: string,
  kept: readonly Kept[],
  limit: number,
): Promise<Statement[]> {
  if (statement === '') return [];
  const days = [...new Set(kept.map(({ at }) => at))];
  const statements = days
    .map((at) => ({ at, text: joined(saidIn(kept.filter((memory) => memory.at === at))) }))
    .filter(({ text }) => text !== '');
  const texts = statements.map(({ text }) => text);
  const found = await nearest(statement, texts, { limit, atLeast: FACT_NEAR });
  return found.map(({ index }) => statements[index] as Statement);
}

function saidIn(memories: readonly ClerkMemory[]): string[] {
  return memories.filter((memory) => !isExperience(memory)).map(({ text }) => text);
}

function topicOf({ topic, text }: ClerkMemory): string {
  return topic ?? text;
}

function isExperience({ topic }: ClerkMemory): boolean {
  return topic !== undefined;
}

/** Each draft against the candidates that were found for it. */
function decideByDraft({ drafts, candidates }: MergePrompt, field: string) {
  return drafts.map((fields, draft) => {
    const own = candidates.filter((candidate) => candidate.draft === draft);
    const [decision] = decide(
      [fields[field] ?? ''],
      own.map((candidate) => candidate.fields[field] ?? ''),
    );
    if (decision === undefined || decision.kind === 'add') return { decision: 'add' as const };
    return { decision: decision.kind, id: own[decision.target]?.id };
  });
}
