/** What main thread and bank worker say to each other. The worker is plain JavaScript and imports only these types. */
import { z } from 'zod';
import { boundarySchema } from '../../../core/outcome.ts';

export interface OpenRequest {
  readonly kind: 'open';
  readonly dir: string;
  readonly model: { readonly baseUrl: string; readonly apiKey: string; readonly model: string };
  readonly embeddings: {
    readonly baseUrl: string;
    readonly apiKey: string;
    readonly model: string;
    readonly dimensions: number;
  };
  /** The conversation's wall time, printed as if it were UTC, e.g. `2024-05-08T20:15:00.000Z`. */
  readonly now: string;
}

export interface WriteRequest {
  readonly kind: 'write';
  readonly now: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

export interface RetrieveRequest {
  readonly kind: 'retrieve';
  readonly question: string;
  readonly topK: number;
  readonly threshold: number;
}

export type BankRequest =
  | OpenRequest
  | WriteRequest
  | RetrieveRequest
  | { readonly kind: 'list' }
  | { readonly kind: 'hash' }
  | { readonly kind: 'close' };

export const listedSchema = z.array(z.object({ id: z.string(), text: z.string() }));
/** A block or a hash. */
export const textSchema = z.string();
export const nothingSchema = z.undefined();

export const replySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('done'), id: z.int(), value: z.unknown() }),
  z.object({
    kind: z.literal('failed'),
    id: z.int(),
    boundary: boundarySchema,
    message: z.string(),
  }),
]);
export type Reply = z.infer<typeof replySchema>;
