/** Says on standard error how long work is getting on: one line that changes on a terminal, a line now and then elsewhere. */
import type { Output } from './output.ts';

/** A terminal's line changes no faster than people read. */
const TERMINAL_PAUSE_MS = 100;
/** A log should say that the work goes on, and not be filled with it. */
const PLAIN_PAUSE_MS = 3_000;
const CLEAR_LINE = '\r\u001b[K';

export interface Progress {
  /** What has been done so far, in a few words; may be called as often as there is news. */
  tell(news: string): void;
  /** Takes the line away, so that the result stands alone. */
  end(): void;
}

/** Where progress goes; a test hands in its own. */
export interface ProgressTarget {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** @param label what is being done, such as `reconciling`. Nothing is said with `--json`. */
export function startProgress(
  options: Output,
  label: string,
  target: ProgressTarget = process.stderr,
  now: () => number = Date.now,
): Progress {
  if (options.json === true) return { tell: () => undefined, end: () => undefined };
  const is_terminal = target.isTTY === true;
  const pause_ms = is_terminal ? TERMINAL_PAUSE_MS : PLAIN_PAUSE_MS;
  // Work that is over before anybody wonders says nothing.
  let last_at = now();
  let is_shown = false;
  return {
    tell(news) {
      if (now() - last_at < pause_ms) return;
      last_at = now();
      is_shown = is_terminal;
      target.write(is_terminal ? `${CLEAR_LINE}${label}: ${news}` : `${label}: ${news}\n`);
    },
    end() {
      if (is_shown) target.write(CLEAR_LINE);
      is_shown = false;
    },
  };
}
