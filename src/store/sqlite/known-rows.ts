/** Rows of merchants and tokens that are kept as they were read: every call looks at both several times, and they change rarely. */
import type { Store } from '../../core/store.ts';
import type { Unit } from '../unit.ts';
import { type WriteName, writes } from '../writes.ts';

/** So many of either are kept; beyond it all are forgotten, and read again as they are called for. */
const LIMIT = 10_000;
const CHANGES = /\b(?:INSERT INTO|UPDATE|DELETE FROM) (?:merchants|tokens)\b/;
const changing: ReadonlySet<string> = new Set(
  Object.keys(writes).filter((name) => CHANGES.test(writes[name as WriteName])), // the keys are those of `writes`
);

export interface KnownRows {
  /** The row as it was read last, while nothing that is being written could have changed it. What is not there is not kept. */
  get<Row>(table: 'merchant' | 'token', key: string, read: () => Promise<Row | null>): Promise<Row | null>;
  /** Hands on the commit of a unit; until one that may change such rows has ended, they are read from the file. */
  during<Result>(unit: Unit, commit: Promise<Result>): Promise<Result>;
}

/** Right only where all writing goes by one queue, as the instance lock makes sure. */
export function createKnownRows(): KnownRows {
  const rows = { merchant: new Map<string, unknown>(), token: new Map<string, unknown>() };
  let under_way = 0;
  /** Rises with each change that may have been made, so that nothing is kept that was read before it. */
  let changed = 0;
  const forget = (): void => {
    changed++;
    rows.merchant.clear();
    rows.token.clear();
  };
  return {
    async get<Row>(table: keyof typeof rows, key: string, read: () => Promise<Row | null>): Promise<Row | null> {
      const known = rows[table];
      if (under_way > 0) return read();
      const kept = known.get(key);
      if (kept !== undefined) return kept as Row; // a table's rows are all of one form
      const before = changed;
      const row = await read();
      if (row === null || changed !== before) return row;
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

/** The same methods, which read a row from the file only when it is not known. */
export function withKnownRows<Methods extends Pick<Store, 'merchant' | 'token'>>(
  methods: Methods,
  known: () => KnownRows,
): Methods {
  return {
    ...methods,
    merchant: (id) => known().get('merchant', id, () => methods.merchant(id)),
    token: (fingerprint) => known().get('token', fingerprint, () => methods.token(fingerprint)),
  };
}
