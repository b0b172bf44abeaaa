/** Rows of merchants and tokens that are kept as they were read: every call looks at both several times, and they change rarely. */
import type { Unit } from './unit.ts';
import { type WriteName, writes } from './writes.ts';

/** So many of either are kept; beyond it all are forgotten, and read again as they are called for. */
const LIMIT = 10_000;
const CHANGES = /\b(?:INSERT INTO|UPDATE|DELETE FROM) (?:merchants|tokens)\b/;
const changing: ReadonlySet<string> = new Set(
  Object.keys(writes).filter((name) => CHANGES.test(writes[name as WriteName])), // the keys are those of `writes`
);

export interface KnownRows {
  /** The row as it was read last, while nothing that is being written could have changed it. What is not there is not kept. */
  get<Row>(table: 'merchant' | 'token', key: string, read: () => Row | null): Row | null;
  /** Hands on the commit of a unit; until one that may change such rows has ended, they are read from the file. */
  during<Result>(unit: Unit, commit: Promise<Result>): Promise<Result>;
}

/** Right only where all writing goes by one queue, as the instance lock makes sure. */
export function createKnownRows(): KnownRows {
  const rows = { merchant: new Map<string, unknown>(), token: new Map<string, unknown>() };
  let under_way = 0;
  const forget = (): void => {
    rows.merchant.clear();
    rows.token.clear();
  };
  return {
    get<Row>(table: keyof typeof rows, key: string, read: () => Row | null): Row | null {
      const known = rows[table];
      if (under_way > 0) return read();
      const kept = known.get(key);
      if (kept !== undefined) return kept as Row; // a table's rows are all of one form
      const row = read();
      if (row === null) return null;
      if (known.size >= LIMIT) known.clear();
      known.set(key, Object.freeze(row));
      return row;
    },
    during(unit, commit) {
      if (!unit.steps.some(({ write }) => changing.has(write))) return commit;
      under_way++;
      forget();
      return commit.finally(() => {
        under_way--;
        forget();
      });
    },
  };
}
