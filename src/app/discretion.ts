/** No debugger or memory dump in production, and no secret in a crash message (`test/faults/README.md` F135). */
import { PuenteError } from '../error.ts';
import { maskText } from '../proxy/evidence/redact-text.ts';

/** Node options that expose the memory of the process, or write it to disk. */
const ONLOOKERS = /(?<!\S)--(?:inspect|heap-prof|heapsnapshot|abort-on-uncaught-exception)[\w-]*/;
/** Longest crash message, characters; deeper stack frames add nothing. */
const MAX_WORDS = 4_000;

export interface Circumstances {
  /** Real money: `NODE_ENV=production`, or a real upstream. */
  is_production: boolean;
  /** `process.execArgv`, and `NODE_OPTIONS`. */
  options: readonly string[];
  /** Where a debugger can attach; undefined when none can. */
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

/** Diagnostic reports omit the environment, SIGUSR1 opens no debugger, and a crash prints only `lastWords`. */
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
