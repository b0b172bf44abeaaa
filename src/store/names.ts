/** A bound on the distinct names that strangers can make Puente keep: beyond it they are counted under one name. */
import type { RecordedExchange } from '../core/records/evidence.ts';
import type { Reader } from './engine.ts';

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

/** Makes the keeper of one batch, which knows what is kept already; what the batch adds counts towards the bounds. */
export function nameKeeper(reader: Reader): (batch: readonly RecordedExchange[]) => Promise<NameKeeper> {
  const unknown = namesIn(reader, 'unknowns', 'what', 'name', NAMES_LIMIT);
  const detail = namesIn(reader, 'verdicts', 'operation', 'detail', DETAILS_LIMIT);
  return async (batch) => ({
    unknown: await unknown(batch.flatMap((one) => one.unknown.map(({ what }) => [one.merchant_id ?? '', what]))),
    detail: await detail(
      batch.filter((one) => (one.shadow?.detail ?? null) !== null).map((one) => [one.merchant_id, one.operation]),
    ),
  });
}

/** A merchant, and a kind of names within it; null where there is none, which is never asked for. */
type Place = (string | null)[];

function namesIn(reader: Reader, table: string, group: string, column: string, limit: number) {
  const known = reader.prepare<[string, string], { name: string }>(
    `SELECT DISTINCT ${column} AS name FROM ${table} WHERE merchant_id = ? AND ${group} = ? LIMIT ${limit + 1}`,
  );
  return async (places: readonly Place[]) => {
    const kept = new Map<string, Set<string>>();
    for (const place of places) {
      const [merchant_id, within] = place;
      const key = JSON.stringify(place);
      if (merchant_id == null || within == null || kept.has(key)) continue;
      kept.set(key, new Set((await known.all(merchant_id, within)).map(({ name }) => name)));
    }
    return (merchant_id: string, within: string, name: string): string => {
      const here = kept.get(JSON.stringify([merchant_id, within])) ?? new Set();
      if (here.has(name)) return name;
      if (here.size - (here.has(OTHERS) ? 1 : 0) >= limit) return OTHERS;
      here.add(name);
      return name;
    };
  };
}
