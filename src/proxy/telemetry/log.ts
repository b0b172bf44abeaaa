/** Log lines as JSON: a message and the fields of an allow-list, nothing else (`test/faults/README.md` F132, F133). */
import pino from 'pino';
import { INTENT_ID } from '../../contract/identifiers.ts';
import { maskText } from '../evidence/redact-text.ts';
import type { Log, LogFields } from '../log.ts';

const ALLOWED = [
  'merchant',
  'operation',
  'request_id',
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

/** Digits that could be a card number, whatever their check digit (`test/faults/README.md` F134). */
const CARD_LIKE = /(?<!\d)\d{13,19}(?!\d)/g;
/** Control characters of consoles and text direction, which JSON does not escape (`test/faults/README.md` F132). */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** Longest text of a field; a cause is a sentence, not a dump. */
const MAX_TEXT = 300;

/** @param level a pino level. */
export function createLog(level: string, destination?: { write(line: string): void }): Log {
  const options = { level, base: null };
  const logger = destination === undefined ? pino(options) : pino(options, destination);
  return {
    debug: (message, fields) => logger.debug(allowed(fields), cleaned(message)),
    info: (message, fields) => logger.info(allowed(fields), cleaned(message)),
    warn: (message, fields) => logger.warn(allowed(fields), cleaned(message)),
    error: (message, fields) => logger.error(allowed(fields), cleaned(message)),
  };
}

/** Copies the allowed fields by name. */
function allowed(fields: LogFields = {}): Record<string, string | number> {
  const kept: Record<string, string | number> = {};
  for (const name of ALLOWED) {
    const value: unknown = fields[name];
    if (typeof value === 'number') kept[name] = value;
    else if (typeof value === 'string') kept[name] = cleaned(value);
  }
  return kept;
}

/** The rest of a longer text is not masked, because it is cut off. */
const MAX_READ = 4_096;

/** Masks tokens, cards, addresses and keys in every text, encoded ones too. A text is cut after that, so that no half of a secret stays. */
function cleaned(text: string): string {
  // The id of a sale has nothing to mask.
  if (INTENT_ID.test(text)) return text;
  const masked = maskText(text.slice(0, MAX_READ).replaceAll(CARD_LIKE, '[digits]'), true);
  return masked.slice(0, MAX_TEXT).replaceAll(UNPRINTABLE, '?');
}
