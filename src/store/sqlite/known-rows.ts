/** Rows that are kept as they were read: every call looks at its merchant and token several times, tills poll the same sale, and all of them change rarely. */
import type { Link } from '../../core/link.ts';
import { createPassing } from '../../core/passing.ts';
import { createRecent } from '../../core/recent.ts';
import type { Store } from '../../core/store.ts';
import { LINK } from '../columns.ts';
import type { Step, Unit } from '../unit.ts';
import { type WriteName, writes } from '../writes.ts';

/** `order`: which link a merchant order is. `named`: which a merchant's reference names. `free`: that legacy holds nothing of a unit. */
export type KnownTable = 'merchant' | 'token' | 'link' | 'order' | 'named' | 'free';

export interface KnownRows {
  /**
   * The row as it was read last, while nothing that is being written could have changed it. That a link is not there is not
   * kept, and of what holds a unit nothing but that it is not there: the one may come, the other ends by itself.
   */
  get<Row>(table: KnownTable, key: string, read: () => Promise<Row | null>): Promise<Row | null>;
  /** Hands on the commit of a unit; until one that may change such rows has ended, they are read from the file. */
  during<Result>(unit: Unit, commit: Promise<Result>): Promise<Result>;
}

/** So many are kept of each, those in use lately; of links fewer, because an order hangs on each of them, or fifty ids on a name. */
const LIMITS = { merchant: 10_000, token: 10_000, link: 1_000, order: 10_000, named: 1_000, free: 10_000 } as const;

/** Right only where all writing goes by one queue, as the instance lock makes sure. */
export function createKnownRows(): KnownRows {
  const kept = {
    merchant: keptRows(LIMITS.merchant),
    token: keptRows(LIMITS.token),
    link: keptRows(LIMITS.link),
    order: keptRows(LIMITS.order),
    named: keptRows(LIMITS.named),
    free: keptRows(LIMITS.free),
  };
  return {
    async get<Row>(table: KnownTable, key: string, read: () => Promise<Row | null>): Promise<Row | null> {
      const rows = kept[table];
      if (rows.isChanging(key)) return read();
      const known = rows.get(key);
      if (known !== undefined) return known as Row | null; // a table's rows are all of one form
      const before = rows.changes();
      const row = await read();
      if (rows.changes() !== before) return row;
      if (isKept(table, row)) rows.set(key, row === null ? null : Object.freeze(row));
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

/** Openings of links are many, and none of them would find a link known that was missing. */
function isKept(table: KnownTable, row: unknown): boolean {
  if (table === 'link' || table === 'order') return row !== null;
  return table !== 'free' || row === null;
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
  [/\b(?:UPDATE|DELETE FROM) links\b/, { table: 'order', key: null }],
  [/\b(?:UPDATE|DELETE FROM) links\b/, { table: 'named', key: null }],
  [/\b(?:INSERT INTO|UPDATE|DELETE FROM) legacy_sales\b/, { table: 'free', key: null }],
];
const LINK_COLUMNS = LINK.split(/,\s*/);
const MERCHANT_AT = LINK_COLUMNS.indexOf('merchant_id');
const REFERENCE_AT = LINK_COLUMNS.indexOf('client_reference');
const byWrite = new Map(
  Object.entries(writes).map(([name, sql]) => [
    name as WriteName, // the keys are those of `writes`
    ANY.filter(([changes]) => changes.test(sql)).map(([, change]) => change),
  ]),
);

function changesOf({ write, values }: Step): readonly Change[] {
  // By far the commonest, once or twice for each sale: it ends in `WHERE legacy_id = ? AND revision = ?`. No link's name changes.
  if (write === 'update_link') return [{ table: 'link', key: String(values.at(-2)) }];
  if (write === 'insert_link' || write === 'insert_unslotted_link')
    return [{ table: 'named', key: nameOf(values[MERCHANT_AT], values[REFERENCE_AT]) }];
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

/** A merchant's id has no blank in it. */
function nameOf(merchant_id: unknown, reference: unknown): string {
  return `${merchant_id} ${reference}`;
}

type KnownMethods = Pick<
  Store,
  'merchant' | 'token' | 'link' | 'linkByMerchantOrder' | 'linksByClientReference' | 'heldByLegacy'
>;

/** The same methods, which read a row from the file only when it is not known. */
export function withKnownRows<Methods extends KnownMethods>(methods: Methods, known: () => KnownRows): Methods {
  const link: Store['link'] = (legacy_id) => known().get('link', legacy_id, () => methods.link(legacy_id));
  return {
    ...methods,
    merchant: (id) => known().get('merchant', id, () => methods.merchant(id)),
    token: (fingerprint) => known().get('token', fingerprint, () => methods.token(fingerprint)),
    link,
    linkByMerchantOrder: async (id) => {
      const read: { link?: Link | null } = {};
      const legacy_id = await known().get('order', String(id), async () => {
        read.link = await methods.linkByMerchantOrder(id);
        return read.link === null ? null : read.link.legacy_id;
      });
      return read.link !== undefined || legacy_id === null ? (read.link ?? null) : link(legacy_id);
    },
    linksByClientReference: async (merchant_id, reference, limit) => {
      let read: Link[] = [];
      const named = await known().get<Named>('named', nameOf(merchant_id, reference), async () => {
        read = await methods.linksByClientReference(merchant_id, reference, limit);
        return { ids: read.map(({ legacy_id }) => legacy_id), limit };
      });
      if (named === null || named.ids.length === read.length) return read;
      if (named.limit !== limit) return methods.linksByClientReference(merchant_id, reference, limit);
      return (await Promise.all(named.ids.map(link))).filter((one) => one !== null);
    },
    heldByLegacy: (merchant_id, slot, now, which = 'any') => {
      const read = () => methods.heldByLegacy(merchant_id, slot, now, which);
      return which === 'any' ? known().get('free', `${merchant_id} ${slot}`, read) : read();
    },
  };
}

/** Newest first. */
interface Named {
  ids: readonly string[];
  /** That was asked for; more of them may be there. */
  limit: number;
}
