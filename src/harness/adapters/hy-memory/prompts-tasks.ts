/** Reads the requests of Hy-Memory 2.0.6's working and coding scenes back: extraction, two merges, and a summary. */
import type { ChatMessage } from '../../../core/chat.ts';
import { LiteralError, parseLiteral } from '../../python-literal.ts';
import { cutTemplate, type Slot } from '../../template.ts';
import { soleUserText } from './prompts-chat.ts';

const WORKING_SHA256 = '2f2c28197172e476af374a5b5ca8d0b6a3fa3b01198d1653d659bdb976b2b6f5';
const CODING_SHA256 = '8a2cb39e61443629945df09b5400b6d37825d4e0a8efcd9cafde4bdb4ceef0ee';
const EXPERIENCE_SHA256 = '2f52cd90def8771b0601c8b945f690156dee07344563e7a2f8f3a4ff2751406d';
const FACT_SHA256 = 'aabb40ccee5a8b4892e9ce47d38f3de9ae4a0c7521faed8680fc876a145ecedf';
const SUMMARY_SHA256 = 'c9ece2aa28a43773cb95955d6dcadd808cbc2d5295a2d78ef984839163058384';

const BAR = '═══════════════════════════════════════════════════════════════════\n';
const OUTPUT = `\n\n${BAR}OUTPUT (strict JSON only, no markdown)\n`;

export interface TaskExtractPrompt {
  /** Lines of the last five user turns; empty where there were none. */
  readonly last: string;
  /** Lines of this write, `[position] role: text`. */
  readonly newMessages: readonly string[];
}

const EXTRACT_SLOTS: readonly Slot[] = [
  {
    after: 'LAST 5 USER TURNS (CONTEXT ONLY; do not extract them again):\n',
    before: '\n\nNEW MESSAGES (extract only from this complete write):\n',
    end: 'first',
  },
  {
    after: 'NEW MESSAGES (extract only from this complete write):\n',
    before: OUTPUT,
    end: 'last',
  },
];
const NEXT_LINE = /\n(?=\[\d+\] )/;

export function readTaskExtract(
  scene: 'working' | 'coding',
  messages: readonly ChatMessage[],
): TaskExtractPrompt | undefined {
  const hash = scene === 'working' ? WORKING_SHA256 : CODING_SHA256;
  const [last, fresh] = cut(messages, EXTRACT_SLOTS, hash) ?? [];
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

const EXPERIENCE_SLOTS: readonly Slot[] = [
  { after: `NEW DRAFTS\n${BAR}`, before: `\n\n${BAR}EXISTING CANDIDATES`, end: 'first' },
  { after: `by task similarity)\n${BAR}`, before: OUTPUT, end: 'last' },
];
const FACT_SLOTS: readonly Slot[] = [
  { after: `NEW SESSION FACTS\n${BAR}`, before: `\n\n${BAR}EXISTING SESSION FACTS`, end: 'first' },
  { after: `by statement similarity)\n${BAR}`, before: OUTPUT, end: 'last' },
];

export function readExperienceMerge(messages: readonly ChatMessage[]): MergePrompt | undefined {
  const [drafts, candidates] = cut(messages, EXPERIENCE_SLOTS, EXPERIENCE_SHA256) ?? [];
  if (drafts === undefined || candidates === undefined) return undefined;
  return readMerge(drafts.split('\n\n').map(readDraftBlock), candidates, 'experience_id');
}

export function readFactMerge(messages: readonly ChatMessage[]): MergePrompt | undefined {
  const [drafts, candidates] = cut(messages, FACT_SLOTS, FACT_SHA256) ?? [];
  if (drafts === undefined || candidates === undefined) return undefined;
  return readMerge(drafts.split('\n').map(readFactDraft), candidates, 'fact_id');
}

const SUMMARY_SLOTS: readonly Slot[] = [
  { after: `ENTRIES\n${BAR}`, before: `\n\n${BAR}OUTPUT (the summary itself`, end: 'last' },
];
const NEXT_ENTRY = /\n(?=\((?:\d{4}-\d{2}-\d{2}|now)\) )/;

/** `(day) statement` each, oldest first. */
export function readSummary(messages: readonly ChatMessage[]): readonly string[] | undefined {
  const [entries] = cut(messages, SUMMARY_SLOTS, SUMMARY_SHA256) ?? [];
  return entries?.split(NEXT_ENTRY);
}

function cut(
  messages: readonly ChatMessage[],
  slots: readonly Slot[],
  hash: string,
): readonly string[] | undefined {
  const text = soleUserText(messages);
  return text === undefined ? undefined : cutTemplate(text, slots, [hash]);
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
