/**
 * One open Mem0 bank in a thread of its own: the unmodified SDK under the conversation's clock.
 * Plain JavaScript, so that the same file runs from sources and from the build without a loader.
 *
 * @import { BankRequest, OpenRequest, Reply, RetrieveRequest, WriteRequest } from './protocol.ts'
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** A bank holds one user; Mem0 wants a name for it, which no prompt shows. */
const SCOPE = { user_id: 'user' };
/** `getAll` and `search` of the SDK stop at 20 by default. */
const ALL = 1_000_000_000;
/** An unparsable answer is the writer's doing; everything else that the SDK prints is a failure that it swallowed. */
const WRITERS_FAULT = /^Error parsing extraction response/;

class BankError extends Error {
  /** @param {string} boundary @param {string} message */
  constructor(boundary, message) {
    super(message);
    this.boundary = boundary;
  }
}

let nowMs = Date.now();
/** What the SDK printed, by request: retrievals overlap. @type {AsyncLocalStorage<string[]>} */
const complaints = new AsyncLocalStorage();

installClock();
installConsole();
installNetworkGuard();
const { Memory } = await import('mem0ai/oss');

/** @type {{ memory: InstanceType<typeof Memory>, vectors: Database.Database, history: Database.Database, dir: string } | undefined} */
let bank;

if (parentPort === null) throw new Error('the bank worker runs in a worker thread only');
const port = parentPort;
/** Requests are served in order, but retrievals side by side. @type {Promise<unknown>} */
let served = Promise.resolve();
/** @type {Promise<unknown>[]} */
let retrievals = [];
port.on('message', (/** @type {{ id: number, request: BankRequest }} */ { id, request }) => {
  if (request.kind === 'retrieve') {
    retrievals.push(served.then(() => answer(id, request)));
    return;
  }
  served = Promise.all([served, ...retrievals]).then(() => answer(id, request));
  retrievals = [];
});
reply({ kind: 'ready' });

/** @param {Reply} message */
function reply(message) {
  port.postMessage(message);
}

/** @param {number} id @param {BankRequest} request */
async function answer(id, request) {
  /** @type {string[]} */
  const printed = [];
  try {
    const value = await complaints.run(printed, () => handle(request));
    const complaint = printed.find((line) => !WRITERS_FAULT.test(line));
    if (complaint !== undefined) throw new BankError(blame(request, complaint), complaint);
    reply({ kind: 'done', id, value });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const boundary = error instanceof BankError ? error.boundary : blame(request, error);
    reply(/** @type {Reply} */ ({ kind: 'failed', id, boundary, message }));
  }
}

/**
 * Only the embedding client's errors leave the SDK unwrapped (with an HTTP status, or a connection error's undefined one).
 * @param {BankRequest} request @param {unknown} failure
 */
function blame(request, failure) {
  if (failure instanceof Error && 'status' in failure) return 'embedder';
  if (typeof failure === 'string' && /embed/i.test(failure)) return 'embedder';
  return request.kind === 'retrieve' ? 'retriever' : 'harness';
}

/** @param {BankRequest} request */
async function handle(request) {
  switch (request.kind) {
    case 'open':
      return open(request);
    case 'write':
      return write(request);
    case 'list':
      return list();
    case 'retrieve':
      return retrieve(request);
    case 'hash':
      return hash();
    case 'close':
      return close();
  }
}

/** @param {OpenRequest} request */
async function open({ dir, model, embeddings, now }) {
  nowMs = Date.parse(now);
  const vectorsPath = join(dir, 'vectors.db');
  const historyPath = join(dir, 'history.db');
  const memory = new Memory({
    llm: {
      provider: 'openai',
      config: { apiKey: model.apiKey, baseURL: model.baseUrl, model: model.model },
    },
    embedder: {
      provider: 'openai',
      config: {
        apiKey: embeddings.apiKey,
        baseURL: embeddings.baseUrl,
        model: embeddings.model,
        embeddingDims: embeddings.dimensions,
      },
    },
    vectorStore: {
      provider: 'memory',
      config: {
        collectionName: 'memories',
        dbPath: vectorsPath,
        dimension: embeddings.dimensions,
      },
    },
    historyDbPath: historyPath,
  });
  watchEmbedder(Reflect.get(memory, 'embedder'));
  await memory.getAll({ filters: SCOPE, topK: 1 });
  bank = {
    memory,
    vectors: new Database(vectorsPath, { readonly: true, fileMustExist: true }),
    history: new Database(historyPath, { readonly: true, fileMustExist: true }),
    dir,
  };
}

/**
 * An entity that cannot be embedded is left out without a line. A batch that fails is asked for again, text by text.
 * @param {{ embed: (...values: unknown[]) => Promise<unknown> }} embedder
 */
function watchEmbedder(embedder) {
  const embed = embedder.embed.bind(embedder);
  embedder.embed = async (...values) => {
    try {
      return await embed(...values);
    } catch (error) {
      complaints.getStore()?.push(`an embedding failed: ${error}`);
      throw error;
    }
  };
}

function opened() {
  if (bank === undefined) throw new BankError('harness', 'the bank is not open');
  return bank;
}

/** @param {WriteRequest} request */
async function write({ now, messages }) {
  const { memory, history } = opened();
  nowMs = clockOf(now, history);
  await memory.add([...messages], { userId: SCOPE.user_id });
  // A failure to save the messages is swallowed without a word.
  const saved = count(history, 'messages WHERE created_at = ?', new Date(nowMs).toISOString());
  const expected = Math.min(10, messages.filter(({ role }) => role !== 'system').length);
  if (saved !== expected) {
    throw new BankError('store', `${saved} of ${expected} recent messages were saved`);
  }
}

/**
 * The chunk's time, or, for a second chunk of the same day that is not later, one millisecond after the last write: the
 * SDK orders recent messages by time of writing, and the day that prompts show stays the chunk's own.
 * @param {string} now @param {Database.Database} history
 */
function clockOf(now, history) {
  const last = /** @type {string | null} */ (
    history.prepare('SELECT MAX(created_at) FROM messages').pluck().get()
  );
  const later = last === null ? now : new Date(Date.parse(last) + 1).toISOString();
  return Date.parse(later > now && later.slice(0, 10) === now.slice(0, 10) ? later : now);
}

async function list() {
  const { memory, vectors } = opened();
  const { results } = await memory.getAll({ filters: SCOPE, topK: ALL, showExpired: true });
  const stored = count(vectors, 'vectors');
  if (results.length !== stored) {
    throw new BankError('store', `listed ${results.length} of ${stored} memories`);
  }
  return results.map(({ id, memory: text }) => ({ id, text }));
}

/** @param {RetrieveRequest} request */
async function retrieve({ question, topK, threshold }) {
  const { memory } = opened();
  const { results } = await memory.search(question, { filters: SCOPE, topK, threshold });
  return results
    .map(({ createdAt, memory: text }) => `${String(createdAt).slice(0, 10)}: ${text}`)
    .join('\n');
}

/**
 * Memories in the order of the store (search breaks ties by it) with speaker and day, the recent messages that the next
 * prompt shows, and the entities with the memories they boost. Ids become positions; times below a day, vectors (a
 * function of text and embedder) and the history table (which nothing reads) are left out.
 */
async function hash() {
  const { memory, vectors, dir } = opened();
  const memories = rows(vectors);
  const position = new Map(memories.map(({ id }, index) => [id, index]));
  const recent = await Reflect.get(memory, 'db').getLastMessages(`user_id=${SCOPE.user_id}`, 10);
  const content = {
    memories: memories.map(({ payload }) => [
      payload.data,
      payload.attributedTo ?? null,
      payload.createdAt.slice(0, 10),
    ]),
    recent: recent.map((/** @type {{ role: string, content: string }} */ message) => [
      message.role,
      message.content,
    ]),
    entities: entities(dir).map(({ payload }) => [
      payload.data,
      payload.entityType,
      payload.linkedMemoryIds.map((/** @type {string} */ id) => position.get(id)).sort(),
    ]),
  };
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

/** @param {string} dir */
function entities(dir) {
  // The SDK creates this file with the first entity, or with the first search that looks for one.
  const store = Reflect.get(opened().memory, '_entityStore');
  const path = join(dir, 'vectors_entities.db');
  if (store === undefined && !existsSync(path)) return [];
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return rows(database);
  } finally {
    database.close();
  }
}

/** @param {Database.Database} database @returns {{ id: string, payload: any }[]} */
function rows(database) {
  return database
    .prepare('SELECT id, payload FROM vectors ORDER BY rowid')
    .all()
    .map((/** @type {any} */ { id, payload }) => ({ id, payload: JSON.parse(payload) }));
}

/** @param {Database.Database} database @param {string} from @param {string[]} values */
function count(database, from, ...values) {
  return database
    .prepare(`SELECT COUNT(*) FROM ${from}`)
    .pluck()
    .get(...values);
}

/** The SDK has no way to close its stores; their files must be free before the directory is copied. */
function close() {
  const { memory, vectors, history } = opened();
  bank = undefined;
  vectors.close();
  history.close();
  Reflect.get(memory, 'db').close();
  Reflect.get(memory, 'vectorStore').db.close();
  Reflect.get(memory, '_entityStore')?.db.close();
}

/** This thread's `Date` stands still at the conversation's time; dates with arguments are as ever. */
function installClock() {
  globalThis.Date = new Proxy(Date, {
    construct: (target, values, self) =>
      Reflect.construct(target, values.length === 0 ? [nowMs] : values, self),
    apply: (target) => new target(nowMs).toString(),
    get: (target, key, self) => (key === 'now' ? () => nowMs : Reflect.get(target, key, self)),
  });
}

function installConsole() {
  /** @param {unknown[]} values */
  const complain = (...values) => complaints.getStore()?.push(values.map(String).join(' '));
  Object.assign(console, {
    debug: complain,
    error: complain,
    info: complain,
    log: complain,
    warn: complain,
  });
}

/** The SDK's model calls do not use `fetch`; its telemetry and its notices do. */
function installNetworkGuard() {
  globalThis.fetch = async (target) => {
    throw new Error(`the framework must not reach ${String(target)}`);
  };
}
