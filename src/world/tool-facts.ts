/** What a tool's result states while the assistant works or programs: nobody repeats it, so only the result holds it. */
import type { Scene } from '../core/conversation.ts';
import type { FactSpec, ToolCall } from './spec.ts';
import type { Slot } from './values.ts';

export type ToolScene = Exclude<Scene, 'chat'>;

interface ToolRow {
  readonly slot: Slot;
  readonly topic: string;
  readonly ask: readonly string[];
  readonly call: ToolCall;
  /** What the tool answers. */
  readonly told: readonly string[];
  readonly heldOut: readonly string[];
  readonly ideal: string;
  readonly question: string;
}

const WORKING: Readonly<Record<string, ToolRow>> = {
  visa: {
    slot: 'code',
    topic: 'visa form',
    ask: ['please file the visa form', 'can you hand in the visa form'],
    call: { name: 'submit_form', arguments: { form: 'visa' } },
    told: ['visa form filed as {v}', 'ok, visa form {v} accepted', 'visa form received: {v}'],
    heldOut: ['accepted, {v} names the visa form'],
    ideal: 'the visa form is filed as {v}',
    question: 'As what is the visa form filed?',
  },
  room: {
    slot: 'number',
    topic: 'room booking',
    ask: ['book a room for us please', 'please do the room booking'],
    call: { name: 'book_room', arguments: { people: 6 } },
    told: [
      'room booking done: {v}',
      'room booking holds room {v}',
      'room {v} taken for this booking',
    ],
    heldOut: ['{v} it is, room booking closed'],
    ideal: 'the room booking is for room {v}',
    question: 'Which room does the room booking hold?',
  },
  sales: {
    slot: 'amount',
    topic: 'sales table',
    ask: ['sum up the sales table please', 'what does the sales table say'],
    call: { name: 'run_query', arguments: { table: 'sales' } },
    told: ['sales table, sum {v}', 'the sales table adds up to {v}', 'sum over sales table: {v}'],
    heldOut: ['{v} in total over the sales table'],
    ideal: 'the sales table adds up to {v}',
    question: 'What does the sales table add up to?',
  },
  backup: {
    slot: 'path',
    topic: 'backup',
    ask: ['start the backup please', 'please make a backup now'],
    call: { name: 'start_backup', arguments: { full: true } },
    told: ['backup written to {v}', 'backup is in {v}', 'ok, backup went to {v}'],
    heldOut: ['find the backup under {v}'],
    ideal: 'the backup is in {v}',
    question: 'Where is the backup?',
  },
  shipment: {
    slot: 'date',
    topic: 'shipment',
    ask: ['where is my shipment', 'please track the shipment'],
    call: { name: 'track', arguments: { what: 'shipment' } },
    told: ['shipment arrives {v}', 'shipment due on {v}', 'the shipment comes on {v}'],
    heldOut: ['expect that shipment by {v}'],
    ideal: 'the shipment arrives on {v}',
    question: 'When does the shipment arrive?',
  },
  transcript: {
    slot: 'time',
    topic: 'transcript',
    ask: ['order the transcript please', 'please send off the transcript'],
    call: { name: 'order', arguments: { what: 'transcript' } },
    told: ['transcript ready at {v}', 'transcript done by {v}', 'the transcript takes until {v}'],
    heldOut: ['until {v} the transcript is worked on'],
    ideal: 'the transcript is ready at {v}',
    question: 'When is the transcript ready?',
  },
  survey: {
    slot: 'number',
    topic: 'survey',
    ask: ['close the survey please', 'please end the survey'],
    call: { name: 'close_survey', arguments: { id: 1 } },
    told: ['survey closed, {v} replies', 'survey has {v} replies', '{v} replies in the survey'],
    heldOut: ['the survey drew {v} replies in the end'],
    ideal: 'the survey has {v} replies',
    question: 'How many replies has the survey?',
  },
  supplier: {
    slot: 'name',
    topic: 'supplier',
    ask: ['look up the supplier please', 'which supplier do we have there'],
    call: { name: 'find_record', arguments: { kind: 'supplier' } },
    told: ['supplier: {v}', 'the supplier is {v}', 'found supplier {v}'],
    heldOut: ['{v} is on record as supplier'],
    ideal: 'the supplier is {v}',
    question: 'Who is the supplier?',
  },
};

const CODING: Readonly<Record<string, ToolRow>> = {
  build: {
    slot: 'version',
    topic: 'build',
    ask: ['why does the build fail', 'please run the build'],
    call: { name: 'run_build', arguments: { target: 'app' } },
    told: [
      'build failed: needs node {v}',
      'the build needs node {v}',
      'build error, want node {v}',
    ],
    heldOut: ['without node {v} this build stops'],
    ideal: 'the build needs node {v}',
    question: 'Which node does the build need?',
  },
  server: {
    slot: 'number',
    topic: 'server',
    ask: ['start the server please', 'please bring up the server'],
    call: { name: 'run', arguments: { cmd: 'serve' } },
    told: ['server listens on port {v}', 'server up, port {v}', 'the server has port {v}'],
    heldOut: ['port {v} answers for the server'],
    ideal: 'the server listens on port {v}',
    question: 'On which port does the server listen?',
  },
  settings: {
    slot: 'path',
    topic: 'settings',
    ask: ['where do the settings come from', 'find the settings please'],
    call: { name: 'grep', arguments: { text: 'settings' } },
    told: ['settings read from {v}', 'settings are in {v}', '{v}: settings'],
    heldOut: ['it loads {v} for its settings'],
    ideal: 'the settings are in {v}',
    question: 'Where are the settings?',
  },
  tests: {
    slot: 'path',
    topic: 'failing test',
    ask: ['run the tests please', 'please find the failing test'],
    call: { name: 'run_tests', arguments: { all: true } },
    told: ['failing test: {v}', 'one failing test, in {v}', 'the failing test is in {v}'],
    heldOut: ['{v} holds the failing test'],
    ideal: 'the failing test is in {v}',
    question: 'Where is the failing test?',
  },
  release: {
    slot: 'version',
    topic: 'release',
    ask: ['tag the release please', 'please make the release'],
    call: { name: 'tag', arguments: { kind: 'release' } },
    told: ['release tagged as {v}', 'release is {v}', 'tagged release {v}'],
    heldOut: ['{v} went out as the release'],
    ideal: 'the release is tagged as {v}',
    question: 'As what is the release tagged?',
  },
  bug: {
    slot: 'code',
    topic: 'bug',
    ask: ['file that bug please', 'please open a ticket for the bug'],
    call: { name: 'open_ticket', arguments: { kind: 'bug' } },
    told: ['bug filed as {v}', 'the bug is {v}', 'bug {v} opened'],
    heldOut: ['see {v} for this bug'],
    ideal: 'the bug is filed as {v}',
    question: 'As what is the bug filed?',
  },
  branch: {
    slot: 'name',
    topic: 'branch',
    ask: ['make a branch for it', 'please cut a new branch'],
    call: { name: 'git', arguments: { cmd: 'branch' } },
    told: ['on branch {v}', 'branch {v} made', 'new branch: {v}'],
    heldOut: ['switched over, {v} is the branch'],
    ideal: 'the branch is {v}',
    question: 'Which branch is it?',
  },
  cache: {
    slot: 'number',
    topic: 'cache',
    ask: ['how full is the cache', 'please look into the cache'],
    call: { name: 'run', arguments: { cmd: 'cache' } },
    told: ['cache has {v} entries', 'cache: {v} entries', '{v} entries in the cache'],
    heldOut: ['the cache counts {v} entries'],
    ideal: 'the cache has {v} entries',
    question: 'How many entries has the cache?',
  },
};

function tool([id, row]: readonly [string, ToolRow]): FactSpec {
  return {
    id: `tool-${id}`,
    family: 'tool',
    category: 'specificity',
    slots: { v: row.slot },
    ask: row.ask,
    tool: row.call,
    told: row.told,
    heldOut: row.heldOut,
    ideal: row.ideal,
    blurred: `assistant took care of the ${row.topic}`,
    described: `user asked about the ${row.topic}`,
    question: row.question,
    criteria: [{ id: 'value', text: `says that ${row.ideal}`, all: ['{v}'] }],
    noun: `the ${row.topic}`,
  };
}

export const toolFacts: Readonly<Record<ToolScene, readonly FactSpec[]>> = {
  working: Object.entries(WORKING).map(tool),
  coding: Object.entries(CODING).map(tool),
};

/** A tool turn that states nothing: what keeps a session of tools one where nothing is left to find out. */
export const IDLE_TOOL_TURNS: Readonly<Record<ToolScene, readonly (ToolCall & { ask: string })[]>> =
  {
    working: [
      { ask: 'refresh the page', name: 'refresh', arguments: {} },
      { ask: 'clear the desktop', name: 'clear', arguments: {} },
    ],
    coding: [
      { ask: 'format the files', name: 'run', arguments: { cmd: 'format' } },
      { ask: 'lint once more', name: 'run', arguments: { cmd: 'lint' } },
    ],
  };
