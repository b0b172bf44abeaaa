/** Refusals of the engine: always a legacy error name, so that a till reads words it knows. */
import type { z } from 'zod';
import type { Family, LegacyErrorName } from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';
import type { MarkedLimitation } from './limitations.ts';
import { type Path, propertyName } from './path.ts';

/**
 * @param row the row that refuses, as `table#row`; missing when the contract itself does.
 * @param limitation the one that the till meets by it.
 * @returns PuenteError refused with facts `{ error, detail, row?, limitation? }`; the operation's family has the words,
 * `detail` fills them.
 */
export function refusal(
  error: LegacyErrorName,
  detail: string,
  row?: string,
  limitation?: MarkedLimitation,
): PuenteError {
  const facts = {
    error,
    detail,
    ...(row === undefined ? {} : { row }),
    ...(limitation === undefined ? {} : { limitation }),
  };
  return new PuenteError('refused', `The request was refused: ${error} ${detail}`.trim(), { facts });
}

/** What the first thing wrong with a legacy request means to the till that sent it (`legacy-point.md` §1.3, `legacy-qr.md` §1). */
export function sourceRefusal(family: Family, issues: readonly z.core.$ZodIssue[], source: unknown): PuenteError {
  const issue = issues[0] as z.core.$ZodIssue; // a schema that refuses says why
  const path = issue.path as Path; // JSON has no symbol keys
  const name = propertyName(path);
  if (path.length <= 1) return refusal('missing_property', name);
  const value = valueAt(source, path);
  if (value === undefined) return refusal('missing_property', name);
  if (issue.code === 'too_small' && issue.origin === 'number') {
    const least = issue.inclusive === false ? Number(issue.minimum) + 1 : Number(issue.minimum);
    return name === 'amount' ? refusal('amount_minimum', String(least)) : refusal('invalid_property', name);
  }
  if (issue.code === 'too_big' && issue.origin === 'number' && name === 'amount') {
    return refusal('amount_maximum', String(issue.maximum));
  }
  // An empty list is one that is missing.
  if (issue.code === 'too_small' && issue.origin === 'array') return refusal('missing_property', name);
  // The captured answer to an `items` that is no list names the whole body (`legacy-qr.md` §1.1).
  if (family === 'qr_v1' && issue.code === 'invalid_type' && issue.expected === 'array')
    return refusal('bad_request', '');
  return refusal('invalid_property', name);
}

function valueAt(source: unknown, path: Path): unknown {
  let at: unknown = source;
  for (const segment of path) {
    if (at === null || typeof at !== 'object') return undefined;
    at = (at as Record<string | number, unknown>)[segment]; // an object or array; a missing key gives undefined
  }
  return at;
}
