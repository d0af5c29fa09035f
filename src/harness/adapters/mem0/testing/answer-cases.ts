/** Answers that writers give, what `check` must say of each, and what the SDK stores. */
import type { PolicyErrorReason } from '../../../../core/outcome.ts';
import { mem0ExtractStage } from '../stage.ts';

export interface AnswerCase {
  readonly name: string;
  readonly answer: string;
  /** Empty: well formed. */
  readonly reasons: readonly PolicyErrorReason[];
  /** What the SDK stores; `throws` where the answer makes `Memory.add` itself fail. */
  readonly adds: readonly string[];
  readonly throws?: true;
}

const one = (text: string, more: object = {}): object => ({
  id: '0',
  text,
  attributed_to: 'user',
  ...more,
});
const memory = (...members: readonly unknown[]): string => JSON.stringify({ memory: members });

/** An answer that is taken whole. */
function taken(name: string, answer: string, ...adds: string[]): AnswerCase {
  return { name: `taken whole: ${name}`, answer, reasons: [], adds };
}

/** An answer that is not, with what is stored all the same. */
function broken(reason: PolicyErrorReason, name: string, rest: readonly string[]): AnswerCase {
  const [answer = '', ...adds] = rest;
  return { name: `${reason}: ${name}`, answer, reasons: [reason], adds };
}

const AWKWARD = ['```js\nx\n```', '<think>t</think>', '<|im_end|>', 'a"b\\c\n{[', '🙂\ud800', ' '];

export const ANSWER_CASES: readonly AnswerCase[] = [
  taken('no memories', '{"memory":[]}'),
  taken('one memory', memory(one('t1')), 't1'),
  taken('two memories', memory(one('t2'), { id: '1', text: 't3' }), 't2', 't3'),
  taken('pretty printed', JSON.stringify({ memory: [one('t4')] }, null, 2), 't4'),
  taken('a fence', `\`\`\`json\n${memory(one('t5'))}\n\`\`\``, 't5'),
  taken('an open fence', `\`\`\`json\n${memory(one('t6'))}`, 't6'),
  taken('prose around', `Here [as asked]: ${memory(one('t7'))} Done!`, 't7'),
  taken('thinking before', `<think>maybe {"memory":[1]}</think>${memory(one('t8'))}`, 't8'),
  taken('an end token after', `${memory(one('t9'))}<|im_end|>`, 't9'),
  taken('an offered id', memory(one('t10', { linked_memory_ids: ['0'] })), 't10'),
  taken('no links', memory(one('t11', { linked_memory_ids: [] })), 't11'),
  taken('an event that is true', memory(one('t12', { event: 'ADD' })), 't12'),
  taken('the same text twice', memory(one('t13'), one('t13')), 't13'),
  taken('the same id twice', memory(one('t14'), one('t15')), 't14', 't15'),
  taken('an offered text again', memory(one('offered'), one('t16')), 't16'),
  taken('awkward texts, composed', mem0ExtractStage.compose(AWKWARD), ...AWKWARD),

  broken('empty-completion', 'nothing', ['']),
  broken('empty-completion', 'white space', [' \n']),
  broken('unparsable', 'prose', ['I will remember that.']),
  broken('unparsable', 'only thinking', ['<think>hm</think>']),
  broken('unparsable', 'cut in a string', ['{"memory":[{"id":"0","text":"b1']),
  broken('unparsable', 'cut after a member', ['{"memory":[{"id":"0","text":"b2"}']),
  broken('unparsable', 'single quotes', ["{'memory':[]}"]),
  broken('unparsable', 'trailing comma', ['{"memory":[],}']),
  broken('unparsable', 'an array', ['[]']),
  broken('unparsable', 'null', ['null']),
  broken('missing-field', 'no memory key', ['{"facts":["b3"]}']),
  broken('missing-field', 'no id', [memory({ text: 'b4' }), 'b4']),
  broken('missing-field', 'no text', [memory({ id: '0' })]),
  broken('missing-field', 'empty text', [memory(one('b6'), one('')), 'b6']),
  broken('unknown-operation', 'update', [memory(one('b7', { event: 'UPDATE' })), 'b7']),
  broken('unknown-operation', 'delete', [memory(one('b8', { operation: 'DELETE' })), 'b8']),
  broken('unknown-id', 'not offered', [memory(one('b9', { linked_memory_ids: ['77'] })), 'b9']),
  broken('schema-invalid', 'another speaker', [
    memory(one('b10', { attributed_to: 'bot' })),
    'b10',
  ]),
  broken('schema-invalid', 'a number for id', [memory(one('b11', { id: 0 })), 'b11']),
  broken('schema-invalid', 'a number for text', [memory({ id: '0', text: 5 })]),
  broken('schema-invalid', 'links not a list', [
    memory(one('b12', { linked_memory_ids: '0' })),
    'b12',
  ]),
  broken('schema-invalid', 'an unknown key', [memory(one('b13', { confidence: 1 })), 'b13']),
  broken('schema-invalid', 'an unknown key beside', ['{"memory":[],"note":"b14"}']),
  broken('schema-invalid', 'two objects', [`${memory(one('b15'))}${memory(one('b16'))}`, 'b15']),
  broken('schema-invalid', 'a key twice', [
    '{"memory":[{"id":"0","text":"b17"}],"memory":[{"id":"0","text":"b18"}]}',
    'b18',
  ]),
  broken('schema-invalid', 'a fence inside a text', [memory(one('b19 ```x``` y')), 'b19  y']),
  broken('schema-invalid', 'an end token inside a text', [memory(one('b20<|im_end|>')), 'b20']),
  broken('schema-invalid', 'a text that no object can hold', [memory(one('__proto__'))]),
  { ...broken('schema-invalid', 'memory is a text', ['{"memory":"b21"}']), throws: true },
  { ...broken('schema-invalid', 'memory is an object', ['{"memory":{"a":1}}']), throws: true },
  { ...broken('schema-invalid', 'a member is null', [memory(null)]), throws: true },
  {
    ...broken('schema-invalid', 'a text is a list', [memory({ id: '0', text: ['b22'] })]),
    throws: true,
  },
];
