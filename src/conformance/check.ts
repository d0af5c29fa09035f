/** Runs every obligation and every fault cell against one live framework. */
import type { Certificate } from './certificate.ts';
import { faultCellCount, injectFaults } from './faults.ts';
import { Lab, type LabOptions } from './lab.ts';
import { OBLIGATIONS, ORDERLY_CLOSE, tryObligation } from './obligations.ts';

export interface CheckOptions extends LabOptions {
  /** Memories of the largest bank that is listed; 1,000 is what a certificate asks for. */
  readonly memories?: number;
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** The gateway should retry nothing: its provider's failures are what is tried. */
export async function checkHarness(options: CheckOptions): Promise<Certificate> {
  const { harness, memories = 1_000, onProgress, signal } = options;
  const lab = new Lab(options);
  const total = OBLIGATIONS.length + faultCellCount(lab);
  let done = 0;
  const advance = (): void => {
    signal?.throwIfAborted();
    done += 1;
    onProgress?.(done, total);
  };
  const obligations = [];
  for (const obligation of OBLIGATIONS) {
    obligations.push(await tryObligation(obligation, lab, { memories }));
    advance();
  }
  const { cells, obligations: judged } = await injectFaults(lab, advance);
  const closing = await tryObligation(ORDERLY_CLOSE, lab, { memories });
  return {
    harness: harness.configuration,
    version: harness.version,
    obligations: [...obligations, ...judged, closing],
    faultCells: [...cells],
  };
}
