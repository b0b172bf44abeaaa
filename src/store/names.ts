/** Bounds on the distinct names that callers can make Puente store: beyond them all are counted under one name. */

import { OTHERS } from '../mapping/tables.ts';
import { createLru } from '../proxy/concurrency.ts';
import type { DifferenceSeen, RecordedExchange } from '../proxy/records/evidence.ts';
import { signatureOf } from '../proxy/shadow/shadow.ts';
import type { Read, Reader, Value } from './engine.ts';

/** Distinct names for each merchant and kind; a till software has tens of them, more means that somebody guesses paths. */
export const NAMES_LIMIT = 500;
/** Distinct sentences a merchant and operation: a table has some tens of rules. */
export const DETAILS_LIMIT = 200;
/** Rows for each merchant of lost fields, and of fields seen. Fields that the tables know are not counted against it; there are some hundreds. */
export const FIELDS_LIMIT = 1_000;
/** Groups of differences a merchant: more than anybody will judge. */
export const DIFFERENCES_LIMIT = 500;
/** Units a merchant: more terminals and points of sale than the largest chain has. */
export const UNITS_LIMIT = 10_000;
/** Longest unit that is kept by its name; real ones are below 70 characters. */
const LONGEST_UNIT = 200;

/** The names to count under. */
export interface NameKeeper {
  unknown(merchant_id: string, what: string, name: string): string;
  /** Of a verdict. */
  detail(merchant_id: string, operation: string, detail: string): string;
  /** Of a field that no table knows: its path in the ledger. */
  lost(merchant_id: string, operation: string, path: string): string;
  /** Of a field that the till may have named. */
  field(merchant_id: string, operation: string, field: string): string;
  unit(merchant_id: string, slot: string): string;
  difference(merchant_id: string, difference: DifferenceSeen): DifferenceSeen;
}

/**
 * Makes the keeper of one batch, which knows the stored names; names that the batch adds count towards the bounds. Several
 * processes over one database may pass a bound by what they add in the same moment.
 */
export function nameKeeper(reader: Reader): (batch: readonly RecordedExchange[]) => Promise<NameKeeper> {
  const of = (table: string, place: string, name: string, limit: number) => {
    const columns = `SELECT DISTINCT ${name} AS name FROM ${table} WHERE ${place} LIMIT ${limit + 1}`;
    return namesIn(reader.prepare<Value[], { name: string }>(columns), limit);
  };
  const kinds = {
    unknowns: of('unknowns', 'merchant_id = ? AND what = ?', 'name', NAMES_LIMIT),
    details: of('verdicts', 'merchant_id = ? AND operation = ?', 'detail', DETAILS_LIMIT),
    losses: of('ledger', 'merchant_id = ?', "operation || ' ' || path", FIELDS_LIMIT),
    fields: of('coverage', 'merchant_id = ?', "operation || ' ' || field", FIELDS_LIMIT),
    units: of('seen_units', 'merchant_id = ?', 'slot', UNITS_LIMIT),
    differences: of('differences', 'merchant_id = ?', 'signature', DIFFERENCES_LIMIT),
  };
  return async (batch) => {
    const unknowns = kinds.unknowns();
    const details = kinds.details();
    const losses = kinds.losses();
    const fields = kinds.fields();
    const units = kinds.units();
    const differences = kinds.differences();
    for (const one of batch) {
      const { merchant_id, operation, unit } = one;
      for (const { what, name } of one.unknown) unknowns.want([merchant_id ?? '', what], name);
      if (merchant_id === null || operation === null) continue;
      const detail = one.shadow?.detail ?? null;
      if (detail !== null) details.want([merchant_id, operation], detail);
      if (unit !== null && unit.length <= LONGEST_UNIT) units.want([merchant_id], unit);
      for (const { unknown, operation: of_table, path } of one.lost)
        if (unknown === true) losses.want([merchant_id], `${of_table} ${path}`);
      for (const cell of one.cells)
        if (cell.unknown === true) fields.want([merchant_id], `${cell.operation} ${cell.field}`);
      for (const { signature } of one.differences) differences.want([merchant_id], signature);
    }
    for (const kind of [unknowns, details, losses, fields, units, differences]) await kind.read();
    return {
      unknown: (merchant_id, what, name) => (unknowns.keeps([merchant_id, what], name) ? name : OTHERS),
      detail: (merchant_id, operation, name) => (details.keeps([merchant_id, operation], name) ? name : OTHERS),
      lost: (merchant_id, operation, path) => (losses.keeps([merchant_id], `${operation} ${path}`) ? path : OTHERS),
      field: (merchant_id, operation, name) => (fields.keeps([merchant_id], `${operation} ${name}`) ? name : OTHERS),
      unit: (merchant_id, slot) => (slot.length <= LONGEST_UNIT && units.keeps([merchant_id], slot) ? slot : OTHERS),
      difference: (merchant_id, one) => (differences.keeps([merchant_id], one.signature) ? one : otherDifference(one)),
    };
  };
}

/** One group for each operation and kind; the last of them is what it shows. */
function otherDifference(one: DifferenceSeen): DifferenceSeen {
  const { operation, what } = one;
  const signature = signatureOf({ operation, what, path: OTHERS, kind: OTHERS });
  return { ...one, signature, path: OTHERS };
}

/** Names of earlier batches, of all merchants: tills send the same ones again and again. */
const KNOWN_NAMES = 20_000;

interface Names {
  /** `keeps` will be called for the name in this batch. */
  want(place: string[], name: string): void;
  /** Reads the stored names where a wanted one is not known yet. */
  read(): Promise<void>;
  keeps(place: string[], name: string): boolean;
}

/** @returns what makes the names of a batch. A half of a surrogate pair is stored as U+FFFD, and so it is known. */
function namesIn(stored: Read<Value[], { name: string }>, limit: number): () => Names {
  /** Whether the name is kept as it is. */
  const known = createLru<boolean>(KNOWN_NAMES);
  const keyOf = (place: string[], name: string): string => `${place.join(' ')} ${name.toWellFormed()}`;
  return () => {
    /** Of each place that has a name which is not known. */
    const open = new Map<string, { place: string[]; names: Set<string> }>();
    /** What is known may be forgotten while the batch is written. */
    const answers = new Map<string, boolean>();
    return {
      want(place, name) {
        const key = keyOf(place, name);
        const is_kept = known.get(key);
        if (is_kept === undefined) open.set(place.join(' '), { place, names: new Set() });
        else answers.set(key, is_kept);
      },
      async read() {
        for (const one of open.values()) one.names = new Set((await stored.all(...one.place)).map((row) => row.name));
      },
      keeps(place, raw) {
        const name = raw.toWellFormed();
        const key = keyOf(place, name);
        const names = open.get(place.join(' '))?.names ?? new Set();
        const has_room = names.has(name) || names.size - (names.has(OTHERS) ? 1 : 0) < limit;
        const is_kept = answers.get(key) ?? has_room;
        if (is_kept) names.add(name);
        answers.set(key, is_kept);
        known.set(key, is_kept);
        return is_kept;
      },
    };
  };
}
