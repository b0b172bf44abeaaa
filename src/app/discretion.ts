/** Keeps what the process has in memory to itself: no debugger and no memory image in production, and no secret in its last words (`test/faults/README.md` F135). */

import { PuenteError } from '../error.ts';
import { maskText } from '../proxy/evidence/redact-text.ts';

/** Options of Node that expose the memory of the process, or write it to disk. */
const ONLOOKERS = /(?<!\S)--(?:inspect|heap-prof|heapsnapshot|abort-on-uncaught-exception)[\w-]*/;
/** Characters of a crash message; deeper frames add nothing. */
const MAX_WORDS = 4_000;

export interface Circumstances {
  /** Real money: `NODE_ENV=production`, or a real upstream. */
  is_production: boolean;
  /** `process.execArgv`, and `NODE_OPTIONS`. */
  options: readonly string[];
  /** Where a debugger can attach already; undefined for nowhere. */
  inspector_url: string | undefined;
}

/** @throws PuenteError bad_setting when production would run with a debugger or memory dumps. */
export function refuseOnlookers({ is_production, options, inspector_url }: Circumstances): void {
  if (!is_production) return;
  const [option] = ONLOOKERS.exec(options.join(' ')) ?? [];
  if (option === undefined && inspector_url === undefined) return;
  throw new PuenteError(
    'bad_setting',
    `${option ?? 'A debugger'} lets others read tokens in the memory of this process, which handles real payments; take it out of the command and of NODE_OPTIONS.`,
  );
}

/**
 * Diagnostic reports leave the environment out, the signal that would open a debugger does nothing, and an uncaught
 * error ends the process with its masked text alone, without the properties of the error.
 */
export function keepDiscreet(): void {
  if (process.report !== undefined) process.report.excludeEnv = true;
  process.on('SIGUSR1', () => undefined);
  process.on('uncaughtException', (error) => {
    process.stderr.write(`Puente stops: ${lastWords(error)}\n`);
    process.exit(1);
  });
}

/** Name, message and stack of an error, masked; none of its properties. */
export function lastWords(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
  return text
    .replaceAll('file://', '')
    .split('\n')
    .map((line) => maskText(line, true))
    .join('\n')
    .slice(0, MAX_WORDS);
}
