/** Banks under test: each behind its own slot of a real gateway, whose writer is a scripted provider on a real socket. */
import { join } from 'node:path';
import { z } from 'zod';
import type { Listing } from '../core/bank.ts';
import { type ChatMessage, chatMessageSchema } from '../core/chat.ts';
import type { Chunk, Message } from '../core/conversation.ts';
import { boundary } from '../core/outcome.ts';
import type { Stage } from '../core/stage.ts';
import type { Call } from '../core/trace.ts';
import type { Gateway, Slot } from '../gateway/contract.ts';
import type { Bank, Harness, OpenOptions } from '../harness/contract.ts';
import { sha256 } from '../lib/hash.ts';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  type UpstreamReply,
} from '../testing/scripted-upstream.ts';

/** What the provider answers to a recognised request. */
export type Reply = (stage: Stage, messages: readonly ChatMessage[]) => UpstreamReply;

export interface LabOptions {
  readonly harness: Harness;
  readonly gateway: Gateway;
  /** For the banks of this check alone. */
  readonly root: string;
  /** Of one answer: what "time-out" waits for. */
  readonly timeoutMs?: number;
  /** How long a framework that says "done" is watched for work it still has. */
  readonly watchMs?: number;
}

export interface OpenBank extends AsyncDisposable {
  readonly bank: Bank;
  readonly slot: Slot;
  readonly dir: string;
  /** Answers from now on; until then, as `storing` nothing. */
  script: Reply;
}

/** What is opened otherwise than the slot says. */
type More = Partial<OpenOptions> | ((slot: Slot) => Partial<OpenOptions>);

const bodySchema = z.looseObject({ messages: z.array(z.unknown()) });
const SAID_CHARACTERS = 300;
export const DAY = '2021-03-04T10:15:00+00:00';

export class Lab {
  readonly harness: Harness;
  readonly watchMs: number;
  readonly #options: LabOptions;
  #banks = 0;
  /** Calls of all writes so far that no stage recognised. */
  readonly strangers: string[] = [];
  /** What banks said that would not close. */
  readonly unclosed: string[] = [];

  constructor(options: LabOptions) {
    this.harness = options.harness;
    this.watchMs = options.watchMs ?? 500;
    this.#options = options;
  }

  newDirectory(): string {
    return join(this.#options.root, `bank-${this.#banks++}`);
  }

  async open(dir = this.newDirectory(), more: More = {}): Promise<OpenBank> {
    const state: { script: Reply } = { script: storing([]) };
    const upstream = await startScriptedUpstream(({ body }) => this.#answer(body, state.script));
    try {
      return await this.#openBehind(upstream, { dir, more, state });
    } catch (cause) {
      await upstream[Symbol.asyncDispose]();
      throw cause;
    }
  }

  async #openBehind(
    upstream: ScriptedUpstream,
    { dir, more, state }: { dir: string; more: More; state: { script: Reply } },
  ): Promise<OpenBank> {
    const { gateway, timeoutMs = 1_000 } = this.#options;
    const slot = gateway.openSlot({
      writer: { kind: 'relay', endpoint: upstream.endpoint, timeoutMs },
      stages: this.harness.stages,
      seed: 'conformance',
    });
    const bank = await this.#openBank(slot, dir, more);
    return {
      bank,
      slot,
      dir,
      get script() {
        return state.script;
      },
      set script(reply: Reply) {
        state.script = reply;
      },
      [Symbol.asyncDispose]: async () => {
        try {
          await bank[Symbol.asyncDispose]();
        } catch (cause) {
          // What was tried on the bank has its own result; that it would not close is one more.
          this.unclosed.push(cause instanceof Error ? cause.message : String(cause));
        }
        await slot[Symbol.asyncDispose]();
        await upstream[Symbol.asyncDispose]();
      },
    };
  }

  async #openBank(slot: Slot, dir: string, more: More): Promise<Bank> {
    const { model, embeddings } = slot;
    const changed = typeof more === 'function' ? more(slot) : more;
    try {
      return await this.harness.open({ dir, model, embeddings, now: DAY, ...changed });
    } catch (cause) {
      await slot[Symbol.asyncDispose]();
      throw cause;
    }
  }

  #answer(body: unknown, script: Reply): UpstreamReply {
    const messages = bodySchema
      .parse(body)
      .messages.map((message) => chatMessageSchema.parse(message));
    const stage = this.harness.stages.find((candidate) => candidate.recognise(messages));
    if (stage === undefined) throw new Error('the gateway lets no unknown request pass');
    return script(stage, messages);
  }

  /** One write of these texts, noted when a call of it was no stage's. */
  async write(
    open: OpenBank,
    texts: readonly string[],
    options: ChunkOptions = {},
  ): Promise<Call[]> {
    open.script = (options.reply ?? storing)(texts);
    open.slot.setPurpose('write');
    await open.bank.write(this.chunk(texts, options));
    const calls = await boundary('harness', () => open.slot.take());
    for (const { stage, outcome } of calls) {
      if (stage === 'unknown' || outcome.kind !== 'ok') {
        this.strangers.push(`${stage}: ${JSON.stringify(outcome)}`);
      }
    }
    return [...calls];
  }

  /** With tool turns where the configuration's scene has them. */
  chunk(texts: readonly string[], { at = DAY, index = 0, scene }: ChunkOptions = {}): Chunk {
    const own = scene ?? this.harness.scenes[0];
    if (own === undefined) throw new Error(`${this.harness.configuration} takes no scene`);
    // Short, so that a framework which cuts long conversations into windows asks once a write.
    const said = texts.join('. ').slice(0, SAID_CHARACTERS) || 'hello';
    const messages: Message[] =
      own === 'chat'
        ? [
            { id: `${index}.0`, role: 'user', text: said },
            { id: `${index}.1`, role: 'assistant', text: 'noted' },
          ]
        : toolTurns(said, index);
    const place = { userId: 'user', sessionId: 'session', index, at, scene: own };
    return { id: `c${index}`, ...place, messages, tokens: said.length, oversized: false };
  }
}

export interface ChunkOptions {
  readonly at?: string;
  readonly index?: number;
  readonly scene?: Chunk['scene'];
  /** `storing` by default. */
  readonly reply?: typeof storing;
}

/** Every stage answers so that exactly these texts are stored: the normal path. */
export function storing(texts: readonly string[]): Reply {
  return (stage, messages) => ({
    kind: 'text',
    text: stage.compose(texts, messages),
  });
}

/** As `storing`, but each stage that can makes the framework go on to the stages after it. */
export function provoking(texts: readonly string[]): Reply {
  return (stage, messages) => ({
    kind: 'text',
    text: stage.provoke?.(messages) ?? stage.compose(texts, messages),
  });
}

/** Texts that share no word, so that no framework takes one for a copy of another. */
export function distinctTexts(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => words(from + i).join(' '));
}

/** Near enough to `distinctTexts` to be offered for merging, and no copy. */
export function nearTexts(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) =>
    [...words(from + i).slice(0, 4), ...words(1_000_000 + from + i).slice(0, 2)].join(' '),
  );
}

function words(i: number): string[] {
  const hash = sha256(`conformance ${i}`).replace(/\d/g, (digit) =>
    String.fromCharCode(103 + Number(digit)),
  );
  return Array.from({ length: 6 }, (_, w) => hash.slice(8 * w, 8 * w + 8));
}

function toolTurns(said: string, index: number): Message[] {
  const call = { id: `call-${index}`, name: 'shell', arguments: '{"command":"make"}' };
  return [
    { id: `${index}.0`, role: 'user', text: said },
    {
      id: `${index}.1`,
      role: 'assistant',
      text: `I run it.\n[tool call: shell(${call.arguments})]`,
      spokenText: 'I run it.',
      toolCalls: [call],
    },
    { id: `${index}.2`, role: 'tool', text: 'exit code 0', toolCallId: call.id },
    { id: `${index}.3`, role: 'assistant', text: 'It is done.' },
  ];
}

export function textsOf(listing: Listing): string[] {
  return listing.map(({ text }) => text).sort();
}
