/** Reads the requests of Hy-Memory 2.0.6's working and coding scenes back, which it words in English or Chinese. */
import type { ChatMessage } from '../../../core/chat.ts';
import { LiteralError, parseLiteral } from '../../python-literal.ts';
import { cutOneOf, type Slot, type Template } from '../../template.ts';
import { soleUserText } from './prompts-chat.ts';

const BAR = '═══════════════════════════════════════════════════════════════════\n';
/** English, Chinese. */
const OUTPUTS = [
  `\n\n${BAR}OUTPUT (strict JSON only, no markdown)\n`,
  `\n\n${BAR}OUTPUT（仅输出严格 JSON，不要 markdown）\n`,
] as const;

export interface TaskExtractPrompt {
  /** Lines of the last five user turns; empty where there were none. */
  readonly last: string;
  /** Lines of this write, `[position] role: text`. */
  readonly newMessages: readonly string[];
}

function extractSlots(last: string, fresh: string, output: string): readonly Slot[] {
  return [
    { after: last, before: `\n\n${fresh}`, end: 'first' },
    { after: fresh, before: output, end: 'last' },
  ];
}

const EXTRACT_SLOTS = [
  extractSlots(
    'LAST 5 USER TURNS (CONTEXT ONLY; do not extract them again):\n',
    'NEW MESSAGES (extract only from this complete write):\n',
    OUTPUTS[0],
  ),
  extractSlots(
    '最近 5 个用户轮次（仅作上下文，不要重复抽取）：\n',
    '本次新增消息（只从这次完整写入中抽取）：\n',
    OUTPUTS[1],
  ),
] as const;
const EXTRACT: Readonly<Record<'working' | 'coding', readonly Template[]>> = {
  working: [
    {
      slots: EXTRACT_SLOTS[0],
      sha256: '2f2c28197172e476af374a5b5ca8d0b6a3fa3b01198d1653d659bdb976b2b6f5',
    },
    {
      slots: EXTRACT_SLOTS[1],
      sha256: '42084e7241d943e007292e9e3c35144512c000a9b8c8f0035548e7cbc67d31c0',
    },
  ],
  coding: [
    {
      slots: EXTRACT_SLOTS[0],
      sha256: '8a2cb39e61443629945df09b5400b6d37825d4e0a8efcd9cafde4bdb4ceef0ee',
    },
    {
      slots: EXTRACT_SLOTS[1],
      sha256: 'afefbf1a47f950283b2771dbbcc8d18249b1c8d74dda81ab60c3d2ac50b0203b',
    },
  ],
};
const NEXT_LINE = /\n(?=\[\d+\] )/;

export function readTaskExtract(
  scene: 'working' | 'coding',
  messages: readonly ChatMessage[],
): TaskExtractPrompt | undefined {
  const [last, fresh] = cut(messages, EXTRACT[scene]) ?? [];
  if (last === undefined || fresh === undefined) return undefined;
  return { last: last === '(none)' ? '' : last, newMessages: fresh.split(NEXT_LINE) };
}

export interface Candidate {
  readonly id: string;
  /** Position of the draft that it was found for. */
  readonly draft: number;
  /** Printed fields by name, cut where the framework cuts them. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface MergePrompt {
  /** Printed fields of each draft. */
  readonly drafts: readonly Readonly<Record<string, string>>[];
  readonly candidates: readonly Candidate[];
}

function mergeSlots(headings: readonly [string, string, string], output: string): readonly Slot[] {
  const [drafts, existing, similarity] = headings;
  return [
    { after: `${drafts}\n${BAR}`, before: `\n\n${BAR}${existing}`, end: 'first' },
    { after: `${similarity}\n${BAR}`, before: output, end: 'last' },
  ];
}

const EXPERIENCE: readonly Template[] = [
  {
    slots: mergeSlots(['NEW DRAFTS', 'EXISTING CANDIDATES', 'by task similarity)'], OUTPUTS[0]),
    sha256: '2f52cd90def8771b0601c8b945f690156dee07344563e7a2f8f3a4ff2751406d',
  },
  {
    slots: mergeSlots(
      ['NEW DRAFTS', 'EXISTING CANDIDATES', '（按每条 draft 的 task similarity 检索）'],
      OUTPUTS[1],
    ),
    sha256: 'd1fe9723e1eb127cd388d146a9738b75b2f982e68cce52759feb2643566521f7',
  },
];
const FACT: readonly Template[] = [
  {
    slots: mergeSlots(
      ['NEW SESSION FACTS', 'EXISTING SESSION FACTS', 'by statement similarity)'],
      OUTPUTS[0],
    ),
    sha256: 'aabb40ccee5a8b4892e9ce47d38f3de9ae4a0c7521faed8680fc876a145ecedf',
  },
  {
    slots: mergeSlots(
      [
        'NEW SESSION FACTS',
        'EXISTING SESSION FACTS',
        '（按每条新 fact 的 statement similarity 检索）',
      ],
      OUTPUTS[1],
    ),
    sha256: 'e45484ac99227b76b9792d90ad5b6605bef0134100de1af4b0e2804b52d39a5b',
  },
];

export function readExperienceMerge(messages: readonly ChatMessage[]): MergePrompt | undefined {
  const [drafts, candidates] = cut(messages, EXPERIENCE) ?? [];
  if (drafts === undefined || candidates === undefined) return undefined;
  return readMerge(drafts.split('\n\n').map(readDraftBlock), candidates, 'experience_id');
}

export function readFactMerge(messages: readonly ChatMessage[]): MergePrompt | undefined {
  const [drafts, candidates] = cut(messages, FACT) ?? [];
  if (drafts === undefined || candidates === undefined) return undefined;
  return readMerge(drafts.split('\n').map(readFactDraft), candidates, 'fact_id');
}

function summarySlots(output: string): readonly Slot[] {
  return [{ after: `ENTRIES\n${BAR}`, before: `\n\n${BAR}${output}`, end: 'last' }];
}

const SUMMARY: readonly Template[] = [
  {
    slots: summarySlots('OUTPUT (the summary itself'),
    sha256: 'c9ece2aa28a43773cb95955d6dcadd808cbc2d5295a2d78ef984839163058384',
  },
  {
    slots: summarySlots('OUTPUT（只输出 summary 本身'),
    sha256: '6b0aeecfac551615a7d49f86fd77f6e2ac701fceb006ff521cb5c9bd3094a64b',
  },
];
const NEXT_ENTRY = /\n(?=\((?:\d{4}-\d{2}-\d{2}|now)\) )/;

/** `(day) statement` each, oldest first. */
export function readSummary(messages: readonly ChatMessage[]): readonly string[] | undefined {
  const [entries] = cut(messages, SUMMARY) ?? [];
  return entries?.split(NEXT_ENTRY);
}

function cut(
  messages: readonly ChatMessage[],
  templates: readonly Template[],
): readonly string[] | undefined {
  const text = soleUserText(messages);
  return text === undefined ? undefined : cutOneOf(text, templates);
}

type Fields = Readonly<Record<string, string>>;

/** Values are printed as Python literals, so no draft or candidate can break out of its line. */
function readMerge(
  drafts: readonly (Fields | undefined)[],
  candidates: string,
  idName: string,
): MergePrompt | undefined {
  const found = readCandidates(candidates, idName);
  const read = drafts.filter((draft) => draft !== undefined);
  return found === undefined || read.length < drafts.length
    ? undefined
    : { drafts: read, candidates: found };
}

function readDraftBlock(block: string): Fields | undefined {
  const [head, ...lines] = block.split('\n');
  return head !== undefined && /^draft\[\d+\]:$/.test(head) ? readFields(lines) : undefined;
}

const FACT_DRAFT =
  /^draft\[\d+\]: subject=(?<subject>\(unspecified\)|'.*'|".*") statement=(?<statement>'.*'|".*")$/;

function readFactDraft(line: string): Fields | undefined {
  const { subject, statement } = FACT_DRAFT.exec(line)?.groups ?? {};
  if (subject === undefined || statement === undefined) return undefined;
  return readFields([`subject: ${subject}`, `statement: ${statement}`]);
}

const HEAD = /^for draft\[(\d+)\]:(?: \(no candidates\))?$/;

function readCandidates(text: string, idName: string): Candidate[] | undefined {
  const found: Candidate[] = [];
  for (const block of text.split('\n\n')) {
    const [head = '', ...lines] = block.split('\n');
    const draft = HEAD.exec(head)?.[1];
    if (draft === undefined) return undefined;
    for (const lines_C of splitBefore(lines, `  - ${idName}=`)) {
      const id = lines_C[0]?.slice(`  - ${idName}=`.length);
      const fields = readFields(lines_C.slice(1));
      if (id === undefined || fields === undefined) return undefined;
      found.push({ id, draft: Number(draft), fields });
    }
  }
  return found;
}

function splitBefore(lines: readonly string[], start: string): string[][] {
  const groups: string[][] = [];
  for (const line of lines) {
    if (line.startsWith(start) || groups.length === 0) groups.push([]);
    groups.at(-1)?.push(line);
  }
  return groups;
}

/** `name: value` lines; a value is a Python literal, `(unspecified)`, or a time as it stands. */
function readFields(lines: readonly string[]): Fields | undefined {
  const fields: Record<string, string> = {};
  for (const line of lines) {
    const { name, value } = /^ *(?<name>\w+): (?<value>.*)$/s.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) return undefined;
    const read = readValue(value);
    if (read === undefined) return undefined;
    fields[name] = read;
  }
  return fields;
}

function readValue(text: string): string | undefined {
  if (text === '(unspecified)') return '';
  if (!/^['"[]/.test(text)) return text;
  try {
    const value = parseLiteral(text);
    return Array.isArray(value) ? value.join(', ') : String(value);
  } catch (cause) {
    if (cause instanceof LiteralError) return undefined;
    throw cause;
  }
}
