/** Facts that only the assistant states: worth storing, and attributed to the assistant. */
import type { FactSpec } from './spec.ts';
import type { Slot } from './values.ts';

interface AssistantRow {
  readonly slot: Slot;
  readonly topic: string;
  readonly ask: readonly string[];
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
  readonly question: string;
}

const ROWS: Readonly<Record<string, AssistantRow>> = {
  ticket: {
    slot: 'code',
    topic: 'train ticket',
    ask: ['please book the train ticket', 'can you get me a train ticket'],
    told: [
      'done, the train ticket is {v}',
      'your train ticket has code {v}',
      'booked, train ticket {v}',
    ],
    heldOut: ['show {v} as your train ticket'],
    question: 'What is the code of the train ticket?',
  },
  table: {
    slot: 'time',
    topic: 'dinner table',
    ask: ['please reserve a dinner table', 'get us a table for dinner'],
    told: [
      'your dinner table is at {v}',
      'done, dinner table at {v}',
      'I reserved the dinner table at {v}',
    ],
    heldOut: ['be there at {v}, the dinner table waits'],
    question: 'When is the dinner table?',
  },
  invoice: {
    slot: 'number',
    topic: 'invoice',
    ask: ['please send the invoice', 'can you make the invoice now'],
    told: ['sent, the invoice is number {v}', 'your invoice number is {v}', 'done, invoice {v}'],
    heldOut: ['I filed your invoice under {v}'],
    question: 'What is the invoice number?',
  },
  report: {
    slot: 'path',
    topic: 'report',
    ask: ['please save the report', 'can you store the report for me'],
    told: ['saved, the report is in {v}', 'the report is at {v}', 'done, report in {v}'],
    heldOut: ['look into {v} for your report'],
    question: 'Where is the report?',
  },
  parcel: {
    slot: 'code',
    topic: 'parcel',
    ask: ['please send my parcel', 'can you order the parcel pickup'],
    told: ['sent, the parcel is {v}', 'your parcel has code {v}', 'done, parcel {v}'],
    heldOut: ['follow the parcel with {v}'],
    question: 'What is the code of the parcel?',
  },
  quote: {
    slot: 'amount',
    topic: 'roof repair',
    ask: ['how much is the roof repair', 'please ask about the roof repair'],
    told: [
      'the roof repair is {v}',
      'they ask {v} for the roof repair',
      'roof repair comes to {v}',
    ],
    heldOut: ['plan {v} for that roof repair'],
    question: 'How much is the roof repair?',
  },
  appointment: {
    slot: 'date',
    topic: 'garage slot',
    ask: ['please find me a garage slot', 'can you get a slot at the garage'],
    told: ['your garage slot is {v}', 'done, garage slot on {v}', 'the garage has a slot on {v}'],
    heldOut: ['bring the car on {v}, the garage has a slot'],
    question: 'When is the garage slot?',
  },
};

function assistant([id, row]: readonly [string, AssistantRow]): FactSpec {
  return {
    id,
    family: 'assistant',
    category: 'specificity',
    slots: { v: row.slot },
    ask: row.ask,
    told: row.told,
    heldOut: row.heldOut,
    ideal: `assistant said the ${row.topic} is {v}`,
    blurred: `assistant handled the ${row.topic}`,
    described: `user asked about the ${row.topic}`,
    question: row.question,
    criteria: [{ id: 'value', text: `says that the ${row.topic} is {v}`, all: ['{v}'] }],
    noun: `the ${row.topic}`,
  };
}

export const assistantFacts: readonly FactSpec[] = Object.entries(ROWS).map(assistant);
