/** Long work shows itself: a bar with time left on a terminal, plain lines elsewhere; always on standard error. */
import { SingleBar } from 'cli-progress';

export interface Progress {
  /** Work done so far, in the unit of `total`. */
  update(done: number, note?: string): void;
  /** One lasting line above the bar. */
  line(text: string): void;
  stop(): void;
}

export interface ProgressOptions {
  readonly label: string;
  readonly total: number;
  readonly quiet?: boolean;
}

const PLAIN_INTERVAL_MS = 5_000;

export function startProgress({ label, total, quiet = false }: ProgressOptions): Progress {
  if (quiet) return { update: () => {}, line: () => {}, stop: () => {} };
  return process.stderr.isTTY === true ? terminalBar(label, total) : plainLines(label, total);
}

function terminalBar(label: string, total: number): Progress {
  const bar = new SingleBar({
    stream: process.stderr,
    format: `${label.padEnd(14)} {bar} {percentage}% | {value}/{total} | {eta_formatted} left {note}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: false,
    etaBuffer: 20,
  });
  bar.start(total, 0, { note: '' });
  return {
    update: (done, note) => bar.update(done, note === undefined ? {} : { note: `| ${note}` }),
    line: (text) => {
      process.stderr.write(`\r\u001b[K${text}\n`);
      bar.render();
    },
    stop: () => bar.stop(),
  };
}

function plainLines(label: string, total: number): Progress {
  const startedAt = performance.now();
  let printedAt = startedAt;
  return {
    update: (done, note) => {
      const now = performance.now();
      if (done < total && now - printedAt < PLAIN_INTERVAL_MS) return;
      printedAt = now;
      const left = done > 0 ? ((now - startedAt) / done) * (total - done) : Number.NaN;
      const time = Number.isFinite(left) ? `, ${Math.round(left / 1000)} s left` : '';
      process.stderr.write(`${label}: ${done}/${total}${time}${note ? ` (${note})` : ''}\n`);
    },
    line: (text) => process.stderr.write(`${text}\n`),
    stop: () => {},
  };
}
