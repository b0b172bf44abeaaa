/** A bound on the distinct names that strangers can make Puente keep: beyond it they are counted under one name. */
import type { Reader } from './reader.ts';

/** Distinct names a merchant and kind; a till's maker has tens, and who sends more is guessing paths. */
export const NAMES_LIMIT = 500;
/** Distinct sentences a merchant and operation: a table has some tens of rules. */
export const DETAILS_LIMIT = 200;
export const OTHERS = '(others)';

/** The name to count under, and the same for the detail of a verdict. */
export interface NameKeeper {
  unknown(merchant_id: string, what: string, name: string): string;
  detail(merchant_id: string, operation: string, detail: string): string;
}

/** Makes a keeper for one batch: what the batch adds counts towards the bounds. */
export function nameKeeper(reader: Reader): () => NameKeeper {
  const unknown = namesIn(reader, 'unknowns', 'what', 'name', NAMES_LIMIT);
  const detail = namesIn(reader, 'verdicts', 'operation', 'detail', DETAILS_LIMIT);
  return () => ({ unknown: unknown(), detail: detail() });
}

function namesIn(reader: Reader, table: string, group: string, column: string, limit: number) {
  const isKnown = reader.prepare<[string, string, string], { one: number }>(
    `SELECT 1 AS one FROM ${table} WHERE merchant_id = ? AND ${group} = ? AND ${column} = ? LIMIT 1`,
  );
  const count = reader.prepare<[string, string], { found: number }>(
    `SELECT count(DISTINCT ${column}) AS found FROM ${table}
       WHERE merchant_id = ? AND ${group} = ? AND ${column} <> '${OTHERS}'`,
  );
  return () => {
    const added = new Map<string, { names: Set<string>; room: number }>();
    return (merchant_id: string, within: string, name: string): string => {
      if (isKnown.get(merchant_id, within, name) !== undefined) return name;
      const key = JSON.stringify([merchant_id, within]);
      const here = added.get(key) ?? {
        names: new Set<string>(),
        room: limit - (count.get(merchant_id, within)?.found ?? 0),
      };
      added.set(key, here);
      if (!here.names.has(name) && here.names.size >= here.room) return OTHERS;
      here.names.add(name);
      return name;
    };
  };
}
