/** Log lines as JSON on standard output: a message and fields of the allow list, nothing else (`reliability.md` F133). */
import pino from 'pino';
import type { Log, LogFields } from '../core/runtime.ts';

const ALLOWED = [
  'merchant',
  'operation',
  'legacy_id',
  'order_id',
  'unit',
  'lane',
  'status',
  'code',
  'cause',
  'attempts',
  'duration_ms',
  'action',
  'table',
  'path',
  'count',
] as const satisfies readonly (keyof LogFields)[];

/** A digit run that could be a card number (`reliability.md` F134). */
const CARD_LIKE = /\b\d{13,19}\b/g;
/** Longest text of a field; a cause is a sentence, not a dump. */
const MAX_TEXT = 300;

/** @param level a pino level. */
export function createLog(level: string, destination?: { write(line: string): void }): Log {
  const options = { level, base: null };
  const logger = destination === undefined ? pino(options) : pino(options, destination);
  return {
    debug: (message, fields) => logger.debug(allowed(fields), message),
    info: (message, fields) => logger.info(allowed(fields), message),
    warn: (message, fields) => logger.warn(allowed(fields), message),
    error: (message, fields) => logger.error(allowed(fields), message),
  };
}

function allowed(fields: LogFields = {}): Record<string, string | number> {
  const kept: Record<string, string | number> = {};
  for (const name of ALLOWED) {
    const value = fields[name];
    if (typeof value === 'number') kept[name] = value;
    else if (value !== undefined) kept[name] = cleaned(name, value);
  }
  return kept;
}

/** Ids that Puente logs on purpose are digits too; free text is masked. */
function cleaned(name: string, value: string): string {
  const text = value.slice(0, MAX_TEXT);
  return name === 'merchant' ? text : text.replace(CARD_LIKE, '[digits]');
}
