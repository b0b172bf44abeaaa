/** The errors tables as functions: from an upstream error, or a refusal of the engine, to a legacy error. */
import type { z } from 'zod';
import { jsonNumber } from '../contract/legacy-amount.ts';
import { type Family, type LegacyErrorName, legacyError } from '../contract/legacy-errors.ts';
import type { UpstreamCallName } from '../contract/upstream.ts';
import { PuenteError } from '../error.ts';
import type { MarkedLimitation } from './limitations.ts';
import { type Path, propertyName, reader } from './path.ts';
import { numberOf, type WrittenErrorRow, type WrittenErrors } from './schema.ts';
import type { ErrorRow, MappingContext, Tables } from './tables.ts';
import { exponentOf, minorUnits } from './values.ts';

/** An upstream error, read from any of its envelopes (`docs/field-notes.md` Orders §1.5). */
interface UpstreamError {
  code: string;
  /** Message and details, one per line. */
  lines: string[];
}

/** Upstream property to legacy property; null when no row writes it. */
type Rename = (family: Family, call: UpstreamCallName, property: string) => string | null;

interface NumberedRow extends WrittenErrorRow {
  id: string;
}

/** Rows are tried in order: those of the call, then those for every call; the last one always holds. */
export function errorFinder(tables: readonly WrittenErrors[], rename: Rename): Tables['error'] {
  const numbered = (table: string, name: string, rows: readonly WrittenErrorRow[]): NumberedRow[] =>
    rows.map((row, index) => ({ ...row, id: `${table}#${name}.${numberOf(row, index)}` }));
  const calls = new Map<string, NumberedRow[]>();
  for (const table of tables) {
    const any = numbered(table.table, 'any', table.any);
    calls.set(table.family, any);
    for (const [call, rows] of Object.entries(table.calls))
      calls.set(`${table.family} ${call}`, [...numbered(table.table, call, rows), ...any]);
  }
  return (family, call, status, body, context) => {
    const error = readError(body);
    const given = { rename: (property: string) => rename(family, call, property), context };
    for (const row of calls.get(`${family} ${call}`) ?? calls.get(family) ?? []) {
      const found = matches(row, status, error) ? resolveRow(row, error, given) : null;
      if (found) return found;
    }
    throw new PuenteError('bad_tables', `The errors table of ${family} has no default row for ${call}`); // `check` demands one
  };
}

/** Never fails: a body that is no error has no code and no lines. */
export function readError(body: unknown): UpstreamError {
  const outer = record(body);
  // What the first error of a list lacks stands beside the list.
  const both = Array.isArray(outer.errors) ? [record(outer.errors[0]), outer] : [outer];
  return {
    code: both.map(({ code }) => code).find((code) => typeof code === 'string') ?? '',
    lines: both.map(linesOf).find((lines) => lines.length > 0) ?? [],
  };
}

function linesOf({ details, message }: Record<string, unknown>): string[] {
  return [...(Array.isArray(details) ? details : []), message].filter((line) => typeof line === 'string');
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}; // an object, keys unknown
}

function matches(row: WrittenErrorRow, status: number, error: UpstreamError): boolean {
  if (row.status === '4xx') return status >= 400 && status < 500;
  if (row.status === '5xx') return status >= 500;
  if (row.status !== undefined && row.status !== status) return false;
  if (row.code !== undefined && row.code !== '' && row.code !== error.code) return false;
  const { says } = row;
  return says === undefined || error.lines.some((line) => line.includes(says));
}

/** Null when the row's condition on the property or its converter finds nothing; the next row is tried then. */
function resolveRow(row: NumberedRow, error: UpstreamError, given: Given): ErrorRow | null {
  if (row.property !== undefined) {
    const named = detailConverters.property_name?.convert(error, given) ?? null;
    if (named !== null && named !== row.property) return null;
  }
  const detail = row.with === undefined ? null : (detailConverters[row.with]?.convert(error, given) ?? null);
  if (row.with !== undefined && detail === null) return null;
  const error_name = row.error as LegacyErrorName; // proved by `check`
  return {
    error: error_name,
    detail,
    default: row.status === undefined || row.status === '4xx' || row.status === '5xx',
    row: row.id,
  };
}

/**
 * Whether the message or error of the family's catalogue has a place (`{}`) for a detail; false for an unknown error.
 */
export function wantsDetail(family: Family, error: string): boolean {
  const entry = legacyError(family, error);
  return entry?.message.includes('{}') === true || entry?.error.includes('{}') === true;
}

// Converters of the errors table: they read the text for the `{}` of a legacy message from the upstream error.

interface Given {
  /** Upstream property path to the client's name; null when unknown. */
  rename: (property: string) => string | null;
  context: MappingContext;
}

interface DetailConverter {
  says: string;
  /** Null when the upstream error has no such text: the next row is tried then. */
  convert: (error: UpstreamError, given: Given) => string | null;
}

/** A detail that is a property path, alone or before an explanation: `config.point.terminal_id: must be …`. */
const LEADING_PATH = /^['"`]?([A-Za-z_][\w-]*(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*)['"`]?\s*(?::|$)/;
const QUOTED = /['"`]([\w.[\]-]+)['"`]/;
const WORD = /[A-Za-z_][\w-]*(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*/g;
/** The limit follows these words in every live text (`docs/field-notes.md` Orders §10). */
const LIMIT = /equal to\s+(\d+(?:\.\d+)?)/;

export const detailConverters: Readonly<Record<string, DetailConverter>> = {
  property_name: {
    says: 'the property the upstream text names, as the legacy request calls it',
    convert: (error, { rename }) => {
      const written = namedProperty(error, rename);
      return written === null ? null : (rename(written) ?? written);
    },
  },
  limit: {
    says: 'the limit the upstream text names, as a JSON number would show it',
    convert: (error) => {
      const limit = limitOf(error);
      return limit === undefined ? null : String(jsonNumber(limit));
    },
  },
  limit_minor: {
    says: 'the limit the upstream text names, in minor units',
    convert: (error, { context }) => {
      const minor = minorUnits(limitOf(error), exponentOf(context));
      return minor === undefined ? null : String(minor);
    },
  },
};

function limitOf(error: UpstreamError): string | undefined {
  return error.lines.map((line) => LIMIT.exec(line)?.[1]).find((found) => found !== undefined);
}

function namedProperty(error: UpstreamError, rename: Given['rename']): string | null {
  for (const line of error.lines) {
    const leading = LEADING_PATH.exec(line)?.[1];
    if (leading !== undefined) return leading;
    const quoted = QUOTED.exec(line)?.[1];
    if (quoted !== undefined) return quoted;
    const known = (line.match(WORD) ?? []).find((word) => rename(word) !== null);
    if (known !== undefined) return known;
  }
  return null;
}

// Refusals of the engine, each with a legacy error name, so that tills get an error of the legacy API.

/**
 * @param row the row that refuses, as `table#row`; missing when the contract refuses.
 * @param limitation the one that the till meets by the refusal.
 * @returns PuenteError refused with facts `{ error, detail, row?, limitation? }`; `detail` fills the family's message.
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

/** The refusal for the first issue of a request (`docs/field-notes.md` Point §1.3, `docs/field-notes.md` QR §1). */
export function sourceRefusal(family: Family, issues: readonly z.core.$ZodIssue[], source: unknown): PuenteError {
  const issue = issues[0] as z.core.$ZodIssue; // a failed parse has at least one issue
  const path = issue.path as Path; // JSON has no symbol keys
  const name = propertyName(path);
  if (path.length <= 1) return refusal('missing_property', name);
  const value = reader(path)(source);
  if (value === undefined) return refusal('missing_property', name);
  if (issue.code === 'too_small' && issue.origin === 'number') {
    const least = issue.inclusive === false ? Number(issue.minimum) + 1 : Number(issue.minimum);
    return name === 'amount' ? refusal('amount_minimum', String(least)) : refusal('invalid_property', name);
  }
  if (issue.code === 'too_big' && issue.origin === 'number' && name === 'amount') {
    return refusal('amount_maximum', String(issue.maximum));
  }
  // An empty list counts as missing.
  if (issue.code === 'too_small' && issue.origin === 'array') return refusal('missing_property', name);
  // The captured answer to an `items` that is no list names the whole body (`docs/field-notes.md` QR §1.1).
  if (family === 'qr_v1' && issue.code === 'invalid_type' && issue.expected === 'array')
    return refusal('bad_request', '');
  return refusal('invalid_property', name);
}
