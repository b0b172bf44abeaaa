/** Rows that are kept as they were read: every call looks at its merchant and token several times, tills poll the same sale, and all of them change rarely. */
import { createPassing } from '../../core/passing.ts';
import { createRecent } from '../../core/recent.ts';
import type { Store } from '../../core/store.ts';
import type { Step, Unit } from '../unit.ts';
import { type WriteName, writes } from '../writes.ts';

export type KnownTable = 'merchant' | 'token' | 'link';

export interface KnownRows {
  /** The row as it was read last, while nothing that is being written could have changed it. That a link is not there is not kept. */
  get<Row>(table: KnownTable, key: string, read: () => Promise<Row | null>): Promise<Row | null>;
  /** Hands on the commit of a unit; until one that may change such rows has ended, they are read from the file. */
  during<Result>(unit: Unit, commit: Promise<Result>): Promise<Result>;
}

/** So many are kept of each, those in use lately; of links fewer, because an order hangs on each of them. */
const LIMITS = { merchant: 10_000, token: 10_000, link: 1_000 } as const;

/** Right only where all writing goes by one queue, as the instance lock makes sure. */
export function createKnownRows(): KnownRows {
  const kept = { merchant: keptRows(LIMITS.merchant), token: keptRows(LIMITS.token), link: keptRows(LIMITS.link) };
  return {
    async get<Row>(table: KnownTable, key: string, read: () => Promise<Row | null>): Promise<Row | null> {
      const rows = kept[table];
      if (rows.isChanging(key)) return read();
      const known = rows.get(key);
      if (known !== undefined) return known as Row | null; // a table's rows are all of one form
      const before = rows.changes();
      const row = await read();
      if (rows.changes() !== before) return row;
      // Openings of links are many, and none of them would find a link known that was missing.
      if (row !== null || table !== 'link') rows.set(key, row === null ? null : Object.freeze(row));
      return row;
    },
    during(unit, commit) {
      const changes = unit.steps.flatMap(changesOf);
      if (changes.length === 0) return commit;
      for (const { table, key } of changes) kept[table].begin(key);
      return commit.finally(() => {
        for (const { table, key } of changes) kept[table].end(key);
      });
    },
  };
}

/** Rows that a step may change; a null key means any of the table. */
interface Change {
  table: KnownTable;
  key: string | null;
}

const ANY: readonly (readonly [RegExp, Change])[] = [
  [/\b(?:INSERT INTO|UPDATE|DELETE FROM) (?:merchants|tokens)\b/, { table: 'merchant', key: null }],
  [/\b(?:INSERT INTO|UPDATE|DELETE FROM) (?:merchants|tokens)\b/, { table: 'token', key: null }],
  // A new one has never been read.
  [/\b(?:UPDATE|DELETE FROM) links\b/, { table: 'link', key: null }],
];
const byWrite = new Map(
  Object.entries(writes).map(([name, sql]) => [
    name as WriteName, // the keys are those of `writes`
    ANY.filter(([changes]) => changes.test(sql)).map(([, change]) => change),
  ]),
);

function changesOf({ write, values }: Step): readonly Change[] {
  // By far the commonest, once or twice for each sale: it ends in `WHERE legacy_id = ? AND revision = ?`.
  if (write === 'update_link') return [{ table: 'link', key: String(values.at(-2)) }];
  return byWrite.get(write) ?? [];
}

/** Rows of one table, and which of them are being changed. */
function keptRows(limit: number) {
  let rows = createRecent<unknown>(limit);
  /** Changes under way, by key; '' is every key. */
  const changing = createPassing<number>();
  /** Rises with each change, so that nothing is kept that was read before it. */
  let changes = 0;
  const forget = (key: string | null): void => {
    if (key === null) rows = createRecent(limit);
    else rows.delete(key);
  };
  const count = (key: string | null, by: number): void => {
    const left = (changing.get(key ?? '') ?? 0) + by;
    if (left === 0) changing.delete(key ?? '');
    else changing.set(key ?? '', left);
  };
  return {
    get: (key: string) => rows.get(key),
    set: (key: string, row: unknown) => rows.set(key, row),
    changes: () => changes,
    isChanging: (key: string) => changing.size > 0 && (changing.has('') || changing.has(key)),
    begin(key: string | null) {
      changes++;
      count(key, 1);
      forget(key);
    },
    end(key: string | null) {
      count(key, -1);
      forget(key);
    },
  };
}

/** The same methods, which read a row from the file only when it is not known. */
export function withKnownRows<Methods extends Pick<Store, KnownTable>>(
  methods: Methods,
  known: () => KnownRows,
): Methods {
  return {
    ...methods,
    merchant: (id) => known().get('merchant', id, () => methods.merchant(id)),
    token: (fingerprint) => known().get('token', fingerprint, () => methods.token(fingerprint)),
    link: (legacy_id) => known().get('link', legacy_id, () => methods.link(legacy_id)),
  };
}
