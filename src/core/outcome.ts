/** How anything that can fail ended. A bad policy action is data with a low score; a platform fault is never a score. */
import { z } from 'zod';

/** The one place a foreign failure is attributed to. */
export const boundarySchema = z.enum([
  'policy-engine',
  'upstream',
  'harness',
  'store',
  'embedder',
  'retriever',
  'reader',
  'judge',
  'teacher',
  'gateway',
]);
export type Boundary = z.infer<typeof boundarySchema>;

/** Ways in which a writer's answer can be malformed (definitions §5). */
export const policyErrorReasonSchema = z.enum([
  'unparsable',
  'schema-invalid',
  'unknown-operation',
  'missing-field',
  'unknown-id',
  'empty-completion',
  'truncated',
  'context-overflow',
]);
export type PolicyErrorReason = z.infer<typeof policyErrorReasonSchema>;

export const faultSchema = z.object({
  kind: z.literal('fault'),
  boundary: boundarySchema,
  message: z.string(),
});
export type Fault = z.infer<typeof faultSchema>;

export const policyErrorSchema = z.object({
  kind: z.literal('policy-error'),
  reasons: z.array(policyErrorReasonSchema).min(1),
});
export type PolicyError = z.infer<typeof policyErrorSchema>;

/** `ok | policy-error(reasons) | fault(boundary, message)`, end to end. */
export const outcomeSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ok') }),
  policyErrorSchema,
  faultSchema,
]);
export type Outcome = z.infer<typeof outcomeSchema>;

export const OK: Outcome = { kind: 'ok' };

/** A foreign failure, already attributed. Thrown only by `boundary`, caught only where it becomes a record. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
  readonly boundary: Boundary;

  constructor(boundary: Boundary, message: string, options?: ErrorOptions) {
    super(message, options);
    this.boundary = boundary;
  }

  toFault(): Fault {
    return { kind: 'fault', boundary: this.boundary, message: this.message };
  }
}

/** Runs foreign code; whatever it throws becomes a `FaultError` of this boundary (an attributed one passes through). */
export async function boundary<T>(name: Boundary, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof FaultError) throw cause;
    throw new FaultError(name, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
