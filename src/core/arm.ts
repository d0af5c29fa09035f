/** The credit arms of an ablation (definitions §6): reward reads three of them, credit reads one. */
import { z } from 'zod';

export const armSchema = z.enum(['chunk', 'window', 'broadcast-orm', 'no-trap', 'no-penalty']);
/**
 * `chunk`: the method. `window`: one row total for every chunk. `broadcast-orm`: every chunk gets the mean rubric score.
 * `no-trap`: prm without traps. `no-penalty`: bank growth is free.
 */
export type Arm = z.infer<typeof armSchema>;
