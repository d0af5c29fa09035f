/** What a conformance check says about one framework: stable, as `memwriter harness check --json` prints it. */
import { z } from 'zod';

export const obligationResultSchema = z.strictObject({
  name: z.string(),
  status: z.enum(['held', 'violated', 'not-applicable']),
  detail: z.string(),
});
export type ObligationResult = z.infer<typeof obligationResultSchema>;

export const faultCellSchema = z.strictObject({
  /** Its name, or `embedding` where no stage's call but the framework's embedding calls were made to fail. */
  stage: z.string(),
  injected: z.string(),
  /** `resolved`, or what the write rejected with. */
  frameworkSaid: z.string(),
  /** Difference of two complete listings. */
  storeShows: z.string(),
  /** `ok`, `policy-error: reasons`, `fault: boundary`, `not a fault: message`, `not reached`, or `no such answer`. */
  concluded: z.string(),
});
export type FaultCell = z.infer<typeof faultCellSchema>;

export const certificateSchema = z.strictObject({
  harness: z.string(),
  version: z.string(),
  obligations: z.array(obligationResultSchema),
  faultCells: z.array(faultCellSchema),
});
export type Certificate = z.infer<typeof certificateSchema>;

export function isViolated({ obligations }: Certificate): boolean {
  return obligations.some(({ status }) => status === 'violated');
}
