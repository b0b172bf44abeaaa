/** Bounds on the distinct names that callers can make Puente store: names beyond a bound are counted under one name. */

import { OTHERS } from '../mapping/tables.ts';
import { createLru } from '../proxy/concurrency.ts';
import { LISTED } from './conditions.ts';
import type { Reader, Value } from './engine.ts';

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
 * Runs `work`, which sums one batch with bounded names, again once the place of each new name is read. Only new names are
 * looked up: to read all ten thousand of a full place for each batch held up every call for some milliseconds.
 * Several processes on one database may exceed a bound by the names that they add at the same moment.
 */
export function nameKeeper(reader: Reader): <Result>(work: (names: NameKeeper) => Result) => Promise<Result> {
  const bounds = boundsOf(reader);
  /** Whether a name is kept as it is. */
  const known = createLru<boolean>(KNOWN_NAMES);
  /** At least as many as a place's stored names; counted anew once that reaches the bound. */
  const counts = createLru<number>(KNOWN_NAMES);
  return async (work) => {
    /** Answers of this batch: `known` may drop one while the batch is written. */
    const answers = new Map<string, boolean>();
    const places = new Map<string, Place>();
    const answer = (key: string, is_kept: boolean): void => {
      answers.set(key, is_kept);
      known.set(key, is_kept);
    };
    const keeps = (kind: Kind, values: string[], raw: string): boolean => {
      // A lone surrogate is stored as U+FFFD.
      const name = raw.toWellFormed();
      const id = `${kind} ${values.join(' ')}`;
      const key = `${id} ${name}`;
      const place = places.get(id) ?? { kind, values, names: new Map(), may_be_full: false };
      places.set(id, place);
      place.names.set(name, key);
      const before = answers.get(key) ?? known.get(key);
      if (before !== undefined) {
        answers.set(key, before);
        return before;
      }
      const { limit } = bounds[kind];
      const count = counts.get(id) ?? limit;
      place.may_be_full ||= count >= limit;
      if (place.may_be_full) return true; // `work` runs again with the answer
      counts.set(id, count + 1);
      answer(key, true);
      return true;
    };
    for (;;) {
      const result = work((kind, place, name, id = name) => (keeps(kind, place, id) ? name : OTHERS));
      const unread = [...places].filter(([, { may_be_full }]) => may_be_full);
      if (unread.length === 0) return result;
      for (const [id, place] of unread) {
        const { limit, stored, countOf } = bounds[place.kind];
        const found = await stored.all(...place.values, JSON.stringify([...place.names.keys()]));
        const is_stored = new Set(found.map(({ name }) => name));
        let count = (await countOf.get(...place.values))?.count ?? 0;
        for (const [name, key] of place.names) {
          const is_kept = is_stored.has(name) || count < limit;
          if (!is_stored.has(name) && is_kept) count++;
          answer(key, is_kept);
        }
        counts.set(id, count);
        place.may_be_full = false;
      }
    }
  };
}

interface Place {
  kind: Kind;
  values: string[];
  /** Those of this batch, with their keys. */
  names: Map<string, string>;
  may_be_full: boolean;
}

type Kind = keyof ReturnType<typeof boundsOf>;

function boundsOf(reader: Reader) {
  const bound = (table: string, place: string, name: string, limit: number) => {
    const names = `SELECT DISTINCT ${name} AS name FROM ${table} WHERE ${place}`;
    const counted = `SELECT count(*) AS count FROM (${names} AND ${name} <> '${OTHERS}' LIMIT ${limit}) AS kept`;
    return {
      limit,
      stored: reader.prepare<Value[], { name: string }>(`${names} AND ${name} ${LISTED}`),
      countOf: reader.prepare<Value[], { count: number }>(counted),
    };
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
