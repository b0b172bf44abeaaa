/** Refusals of the engine: always a legacy error name, so that a till reads words it knows. */
import type { z } from 'zod';
import { type PointErrorName, pointErrors } from '../contract/legacy-point.ts';
import { PuenteError } from '../error.ts';
import { type Path, propertyName } from './path.ts';

/**
 * @param row the row that refuses, as `table#row`; missing when the contract itself does.
 * @returns PuenteError refused with facts `{ error, detail, row? }`; `detail` fills the `{}` of the message.
 */
export function refusal(error: PointErrorName, detail: string, row?: string): PuenteError {
  const facts = row === undefined ? { error, detail } : { error, detail, row };
  return new PuenteError('refused', pointErrors[error].message.replace('{}', detail), { facts });
}

/** What the first thing wrong with a legacy request means to the till that sent it (`legacy-point.md` §1.3, §1.9). */
export function sourceRefusal(issues: readonly z.core.$ZodIssue[], source: unknown): PuenteError {
  const issue = issues[0];
  const path = (issue?.path ?? []) as Path; // JSON has no symbol keys
  const name = propertyName(path);
  if (path.length <= 1) return refusal('missing_property', name);
  if (valueAt(source, path) === undefined) return refusal('missing_property', name);
  if (issue?.code === 'too_small' && issue.origin === 'number') {
    const least = issue.inclusive === false ? Number(issue.minimum) + 1 : Number(issue.minimum);
    return name === 'amount' ? refusal('amount_minimum', String(least)) : refusal('invalid_property', name);
  }
  if (issue?.code === 'too_big' && issue.origin === 'number' && name === 'amount') {
    return refusal('amount_maximum', String(issue.maximum));
  }
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
