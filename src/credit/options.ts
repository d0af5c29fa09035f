/** How scores become advantages and loss mass (definitions §6), as configuration fields with their defaults. */
import { z } from 'zod';

export const creditOptionsSchema = z.strictObject({
  /** `window` gives every chunk the advantage of its row's total. The arms of the score are the reward's. */
  arm: z.enum(['chunk', 'window']).default('chunk'),
  /** G: a group of another size means that rollouts are grouped by the wrong key. */
  groupSize: z.int().positive().default(8),
  /** `floored`: (s − μ)/max(σ, floor). `article`: (s − μ)/(σ + 1e−6). `mean`: s − μ. */
  normaliser: z.enum(['floored', 'article', 'mean']).default('floored'),
  sigmaFloor: z.number().positive().default(0.05),
  /** γ of Σ_{u ≥ t} γ^{u−t} s[u]; 0 is s exactly. */
  gamma: z.number().min(0).max(1).default(0),
  lossMass: z.enum(['token', 'segment-mean', 'chunk-mean']).default('chunk-mean'),
});
export type CreditOptions = z.infer<typeof creditOptionsSchema>;
export type LossMass = CreditOptions['lossMass'];

export const creditPresets: Readonly<Record<'recommended' | 'article', CreditOptions>> = {
  recommended: creditOptionsSchema.parse({}),
  article: creditOptionsSchema.parse({ normaliser: 'article', lossMass: 'token' }),
};
