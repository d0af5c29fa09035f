/** The frames between us and a Python bridge: JSON lines over stdin and stdout, the counterpart of bridges/protocol.py. */
import { z } from 'zod';
import type { Endpoint } from '../../core/chat.ts';
import type { Message } from '../../core/conversation.ts';

export const PROTOCOL_VERSION = 1;

/** The bridge's first line: it has imported its framework and waits. */
export const helloSchema = z.strictObject({
  protocol: z.literal(PROTOCOL_VERSION),
  framework: z.string().min(1),
  package: z.string().min(1),
  /** `source` where the framework is not an installed distribution. */
  version: z.string().min(1),
  python: z.string().min(1),
  pid: z.int().positive(),
});
export type Hello = z.infer<typeof helloSchema>;

export type BridgeRequest =
  | {
      readonly op: 'open';
      readonly dir: string;
      readonly model: Endpoint;
      readonly embeddings: Endpoint & { readonly dimensions: number };
      /** ISO time with offset: the bridge's clock stands still at it until the first write. */
      readonly now: string;
      /** The adapter's own; read by its script alone. */
      readonly settings: Readonly<Record<string, unknown>>;
    }
  | {
      readonly op: 'write';
      readonly chunkId: string;
      readonly sessionId: string;
      readonly index: number;
      readonly at: string;
      /** Whole, tool traffic rendered into `text` and structured beside it. */
      readonly messages: readonly Message[];
    }
  | { readonly op: 'list' }
  | { readonly op: 'retrieve'; readonly question: string; readonly topK: number }
  | { readonly op: 'hash' }
  | { readonly op: 'close' };

export const nothingSchema = z.strictObject({});

export const writtenSchema = z.strictObject({
  sideEffects: z.array(
    z.strictObject({
      name: z.string().min(1),
      removed: z.array(z.string()),
      added: z.array(z.string()),
    }),
  ),
});

export const listedSchema = z.strictObject({
  memories: z.array(z.strictObject({ id: z.string(), text: z.string(), store: z.string() })),
  /** As the store itself counts them: another number than listed is a fault. */
  count: z.int().nonnegative(),
});

export const blockSchema = z.strictObject({ block: z.string() });

export const hashSchema = z.strictObject({ hash: z.string().regex(/^[0-9a-f]{64}$/) });

/** One answer line. `result` is checked by the schema of the operation that was asked. */
export const replySchema = z.discriminatedUnion('ok', [
  z.strictObject({ id: z.int(), ok: z.literal(true), result: z.unknown() }),
  z.strictObject({
    id: z.int(),
    ok: z.literal(false),
    error: z.strictObject({
      type: z.string(),
      boundary: z.enum(['harness', 'store', 'embedder', 'retriever']),
      message: z.string(),
    }),
  }),
]);
