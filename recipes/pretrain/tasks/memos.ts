/** MemOS's one request. */
import { type MemosPrompt, readMemosPrompt } from '../../../src/harness/adapters/memos/prompt.ts';
import { checkMemos, renderMemosView } from '../../../src/harness/adapters/memos/stage.ts';
import { composeJson } from '../../../src/harness/json-answer.ts';
import type { Extraction } from './contract.ts';
import { line, withoutToolRole } from './messages.ts';

const KEY_WORDS = 2;

export const memosExtract: Extraction<MemosPrompt> = {
  kind: 'extraction',
  name: 'memos.extract',
  scenes: ['chat', 'working', 'coding'],
  read: readMemosPrompt,
  view: renderMemosView,
  check: checkMemos,
  prompt: async ({ at, messages }) => ({
    newMessages: messages.map(withoutToolRole).map(line),
    time: at,
  }),
  known: () => [],
  write: (memories) =>
    composeJson({
      'memory list': memories.map(({ text, attributedTo }) => ({
        key: text.split(' ').slice(0, KEY_WORDS).join(' '),
        memory_type: attributedTo === 'user' ? 'UserMemory' : 'LongTermMemory',
        value: text,
        tags: [],
      })),
      summary: '',
    }),
  texts: (answer) => JSON.parse(answer)['memory list'].map(({ value }: { value: string }) => value),
};
