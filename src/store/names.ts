/** Bounds on the distinct names that callers can make Puente store: names beyond a bound are counted under one name. */

import { OTHERS } from '../mapping/tables.ts';
import { createLru } from '../proxy/concurrency.ts';
import type { Read, Reader, Value } from './engine.ts';

/** Distinct names per merchant and kind. Till software has tens of them; more means that a caller guesses paths. */
export const NAMES_LIMIT = 500;
/** Distinct details per merchant and operation: a table has some tens of rules. */
export const DETAILS_LIMIT = 200;
/** Rows per merchant of lost fields, and of fields seen. Fields in the tables, some hundreds, do not count. */
export const FIELDS_LIMIT = 1_000;
/** Groups of differences per merchant: more than operators will judge. */
export const DIFFERENCES_LIMIT = 500;
/** Units per merchant: more terminals and points of sale than the largest chain has. */
export const UNITS_LIMIT = 10_000;
/** Longest unit, in characters, that is kept by its name; real ones are below 70. */
export const LONGEST_UNIT = 200;
/** Names of earlier batches, of all merchants, kept in memory: tills send the same names again and again. */
const KNOWN_NAMES = 100_000;

/** The name to count under. `place`, the scope of a bound: merchant, operation or kind; `id` is unique in it. */
export type NameKeeper = (kind: Kind, place: string[], name: string, id?: string) => string;

/**
 * Runs `work`, which sums one batch with bounded names, again once the stored names of places with a new name are read.
 * New names count. Several processes on one database may exceed a bound by the names that they add at the same moment.
 */
export function nameKeeper(reader: Reader): <Result>(work: (names: NameKeeper) => Result) => Promise<Result> {
  const bounds = boundsOf(reader);
  /** Whether a name is kept as it is. */
  const known = createLru<boolean>(KNOWN_NAMES);
  return async (work) => {
    const places = new Map<string, Place>();
    /** Answers of this batch: `known` may drop one while the batch is written. */
    const answers = new Map<string, boolean>();
    const keeps = (kind: Kind, values: string[], raw: string): boolean => {
      // A lone surrogate is stored as U+FFFD.
      const name = raw.toWellFormed();
      const id = `${kind} ${values.join(' ')}`;
      const key = `${id} ${name}`;
      const { limit, stored } = bounds[kind];
      const place = places.get(id);
      const before = answers.get(key) ?? known.get(key);
      if (before === undefined && place === undefined) places.set(id, { stored, values, names: null });
      const names = place?.names ?? new Set();
      const is_kept = before ?? (names.has(name) || names.size - (names.has(OTHERS) ? 1 : 0) < limit);
      if (is_kept) names.add(name);
      // Until its place is read, a new name counts as kept.
      if (before === undefined && !place?.names) return true;
      answers.set(key, is_kept);
      known.set(key, is_kept);
      return is_kept;
    };
    for (;;) {
      const result = work((kind, place, name, id = name) => (keeps(kind, place, id) ? name : OTHERS));
      const unread = [...places.values()].filter(({ names }) => names === null);
      if (unread.length === 0) return result;
      for (const place of unread)
        place.names = new Set((await place.stored.all(...place.values)).map(({ name }) => name));
    }
  };
}

interface Place {
  stored: Read<Value[], { name: string }>;
  values: string[];
  /** Null until the stored names are read. */
  names: Set<string> | null;
}

type Kind = keyof ReturnType<typeof boundsOf>;

function boundsOf(reader: Reader) {
  const bound = (table: string, place: string, name: string, limit: number) => {
    const columns = `SELECT DISTINCT ${name} AS name FROM ${table} WHERE ${place} LIMIT ${limit + 1}`;
    return { limit, stored: reader.prepare<Value[], { name: string }>(columns) };
  };
  return {
    unknown: bound('unknowns', 'merchant_id = ? AND what = ?', 'name', NAMES_LIMIT),
    detail: bound('verdicts', 'merchant_id = ? AND operation = ?', 'detail', DETAILS_LIMIT),
    lost: bound('ledger', 'merchant_id = ?', "operation || ' ' || path", FIELDS_LIMIT),
    field: bound('coverage', 'merchant_id = ?', "operation || ' ' || field", FIELDS_LIMIT),
    unit: bound('seen_units', 'merchant_id = ?', 'slot', UNITS_LIMIT),
    difference: bound('differences', 'merchant_id = ?', 'signature', DIFFERENCES_LIMIT),
  };
}
