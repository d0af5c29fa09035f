/** Every task, and how often it is practised. */
import type { Extraction, Merge } from './contract.ts';
import { everosBoundary, everosEpisode, everosFacts, everosProfile } from './everos.ts';
import { hyChatExtract, hyChatMerge } from './hy-chat.ts';
import {
  hyCodingExtract,
  hyExperienceMerge,
  hyFactMerge,
  hyFactSummary,
  hyWorkingExtract,
} from './hy-tasks.ts';
import { mem0Extract, mem0Facts, mem0Update } from './mem0.ts';
import { memosExtract } from './memos.ts';

// biome-ignore lint/suspicious/noExplicitAny: a list of tasks whose prompts differ
export type AnyExtraction = Extraction<any>;
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyMerge = Merge<any>;

export const EXTRACTIONS: readonly AnyExtraction[] = [
  mem0Extract,
  mem0Facts,
  memosExtract,
  hyChatExtract,
  hyWorkingExtract,
  hyCodingExtract,
  everosEpisode,
];

export const MERGES: readonly AnyMerge[] = [
  mem0Update,
  hyChatMerge,
  hyExperienceMerge,
  hyFactMerge,
  hyFactSummary,
  everosBoundary,
  everosFacts,
  everosProfile,
];

/** Harder ones more often; one answer for all requests is soon learnt. Others have 1. */
const WEIGHTS: Readonly<Record<string, number>> = {
  [mem0Extract.name]: 4,
  [memosExtract.name]: 2,
  [hyChatExtract.name]: 2,
  [hyWorkingExtract.name]: 3,
  [hyCodingExtract.name]: 3,
  [mem0Update.name]: 2,
  [hyChatMerge.name]: 2,
  [hyFactSummary.name]: 0.5,
  [everosBoundary.name]: 0.2,
  [everosProfile.name]: 0.2,
};

export function weightOf({ name }: Pick<AnyExtraction, 'name'>): number {
  return WEIGHTS[name] ?? 1;
}
