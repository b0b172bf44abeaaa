/** The errors table as a function: an upstream status and body to the legacy error a client understands. */
import { type Family, type LegacyErrorName, legacyError } from '../contract/legacy-errors.ts';
import type { UpstreamCallName } from '../contract/upstream.ts';
import { PuenteError } from '../error.ts';
import { detailConverters, type Given } from './detail.ts';
import type { WrittenErrorRow, WrittenErrors } from './schema.ts';
import type { ErrorRow, Tables } from './tables.ts';

/** An upstream error, read from whichever envelope it came in (`orders-api.md` §1.5). */
export interface UpstreamError {
  code: string;
  /** Message and details, one a line. */
  lines: string[];
}

/** Upstream property to legacy property; null when no row writes it. */
export type Rename = (family: Family, call: UpstreamCallName, property: string) => string | null;

interface NumberedRow extends WrittenErrorRow {
  id: string;
}

/** Rows are tried in order: those of the call with this status, then those for every call; the last one always holds. */
export function errorFinder(tables: readonly WrittenErrors[], rename: Rename): Tables['error'] {
  const numbered = (table: string, name: string, rows: readonly WrittenErrorRow[]): NumberedRow[] =>
    rows.map((row, index) => ({ ...row, id: `${table}#${name}.${index + 1}` }));
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
      const found = matches(row, status, error) ? settle(row, error, given) : null;
      if (found) return found;
    }
    throw new PuenteError('bad_tables', `The errors table of ${family} has no default row for ${call}`); // `check` demands one
  };
}

/** Never fails: a body that is no error has no code and no lines. */
export function readError(body: unknown): UpstreamError {
  const outer = record(body);
  const first = Array.isArray(outer.errors) ? record(outer.errors[0]) : outer;
  const details = Array.isArray(first.details) ? first.details : [];
  const lines = [...details, first.message].filter((line) => typeof line === 'string');
  return { code: typeof first.code === 'string' ? first.code : '', lines };
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
function settle(row: NumberedRow, error: UpstreamError, given: Given): ErrorRow | null {
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

/** True when the message of a legacy error has a place for a detail. */
export function wantsDetail(family: Family, error: string): boolean {
  const entry = legacyError(family, error);
  return entry?.message.includes('{}') === true || entry?.error.includes('{}') === true;
}
