/** Caches rows in memory: every call reads its merchant and token several times, tills poll the same sale, and all of them change rarely. */

import { createEntries, createLru } from '../../proxy/concurrency.ts';
import type { Link } from '../../proxy/sales/link.ts';
import type { StoreMethods, Unit } from '../engine.ts';
import { type CachedKind, referenceKey, writes } from '../writes.ts';

export interface KnownRows {
  /** The row that was read last, unless a write since then may have changed it. Absence is cached for merchants and tokens alone. */
  get<Row>(kind: CachedKind, key: string, read: () => Promise<Row | null>): Promise<Row | null>;
  /** Returns the commit of a unit; until it has ended, the rows that it may change are read from the file. */
  during<Result>(unit: Unit, commit: Promise<Result>): Promise<Result>;
}

/** Rows of each kind, most recently used. Fewer links and references, because each holds an order or many ids. */
const LIMITS: Readonly<Record<CachedKind, number>> = {
  merchant: 10_000,
  token: 10_000,
  link: 1_000,
  merchant_order: 10_000,
  reference: 1_000,
  held_until: 10_000,
};

/** Correct only when all writes pass through one queue, which the instance lock guarantees. */
export function createKnownRows(): KnownRows {
  const kept = {
    merchant: keptRows(LIMITS.merchant),
    token: keptRows(LIMITS.token),
    link: keptRows(LIMITS.link),
    merchant_order: keptRows(LIMITS.merchant_order),
    reference: keptRows(LIMITS.reference),
    held_until: keptRows(LIMITS.held_until),
  };
  return {
    get<Row>(kind: CachedKind, key: string, read: () => Promise<Row | null>): Promise<Row | null> {
      const rows = kept[kind];
      if (rows.isChanging(key)) return read();
      // All rows of a kind have one form. Cached as a promise, so that none is made for each read.
      const known = rows.get(key) as Promise<Row | null> | undefined;
      return known ?? readAnew(kind, rows, key, read);
    },
    during(unit, commit) {
      const changes: Change[] = [];
      for (const { write, values } of unit.steps)
        for (const { kind, keyOf } of writes[write].invalidates) changes.push({ kind, key: keyOf?.(values) ?? null });
      if (changes.length === 0) return commit;
      for (const { kind, key } of changes) kept[kind].begin(key);
      const end = (): void => {
        for (const { kind, key } of changes) kept[kind].end(key);
      };
      // Runs before callers of the commit continue, because they start to wait for it later.
      commit.then(end, end);
      return commit;
    },
  };
}

/** Rows that a unit changes; a null key means all of the kind. */
interface Change {
  kind: CachedKind;
  key: string | null;
}

async function readAnew<Row>(
  kind: CachedKind,
  rows: Kept,
  key: string,
  read: () => Promise<Row | null>,
): Promise<Row | null> {
  const before = rows.changes();
  const row = await read();
  if (rows.changes() !== before || !isKept(kind, row)) return row;
  rows.set(key, Promise.resolve(row === null ? null : Object.freeze(row)));
  return row;
}

/** Absence of a link is not cached: openings are many, and none of them invalidates links. */
function isKept(kind: CachedKind, row: unknown): boolean {
  return row !== null || kind === 'merchant' || kind === 'token';
}

/** Cached rows of one kind, and which of them are being changed. */
function keptRows(limit: number) {
  let rows = createLru<Promise<unknown>>(limit);
  /** Changes under way, by key; '' is every key. */
  const changing = createEntries<number>();
  /** Rises with each change, so that a row that was read before it is not cached. */
  let changes = 0;
  const forget = (key: string | null): void => {
    if (key === null) rows = createLru(limit);
    else rows.delete(key);
  };
  const count = (key: string | null, by: number): void => {
    const left = (changing.get(key ?? '') ?? 0) + by;
    if (left === 0) changing.delete(key ?? '');
    else changing.set(key ?? '', left);
  };
  return {
    get: (key: string) => rows.get(key),
    set: (key: string, row: Promise<unknown>) => rows.set(key, row),
    changes: () => changes,
    isChanging: (key: string) => changing.size > 0 && (changing.has('') || changing.has(key)),
    begin(key: string | null) {
      changes++;
      count(key, 1);
      forget(key);
    },
    // Nothing to forget: rows that are read during a change are not cached, and earlier ones are gone.
    end: (key: string | null) => count(key, -1),
  };
}

type Kept = ReturnType<typeof keptRows>;

// Reads that tills repeat, answered from the cache.

/** A search shows fifty. One reference for all sales of a merchant must not fill the memory, nor push other links out of it. */
const KEPT_LINKS = 51;

type KnownReads = Pick<
  StoreMethods,
  'merchant' | 'token' | 'link' | 'linkByMerchantOrder' | 'linksByClientReference' | 'heldByLegacy'
>;

/**
 * The same methods, which read from the file only when the cache has no answer.
 * @param heldUntil until when legacy may hold a unit of a merchant, in epoch ms.
 */
export function withKnownRows<Methods extends KnownReads>(
  methods: Methods,
  heldUntil: (merchant_id: string) => Promise<number>,
  known: () => KnownRows,
): Methods {
  const link: StoreMethods['link'] = (legacy_id) => known().get('link', legacy_id, () => methods.link(legacy_id));
  const merchant: StoreMethods['merchant'] = (id) => known().get('merchant', id, () => methods.merchant(id));
  const token: StoreMethods['token'] = (fingerprint) =>
    known().get('token', fingerprint, () => methods.token(fingerprint));
  const merchantWithToken: StoreMethods['merchantWithToken'] = async (merchant_id, fingerprint) => {
    // The token first: the merchant that is read after it has the site that it was accepted with.
    const accepted = await token(fingerprint);
    const its = await merchant(merchant_id);
    if (its === null) return null;
    const accepted_until = accepted?.merchant_id === merchant_id ? accepted.accepted_until : null;
    // Whether the unit is free is left to its own read: that costs no more here, and most callers do not need it.
    return { merchant: its, accepted_until, is_free: false };
  };
  return {
    ...methods,
    merchant,
    token,
    merchantWithToken,
    link,
    linkByMerchantOrder: async (id) => {
      const read: { link?: Link | null } = {};
      const legacy_id = await known().get('merchant_order', String(id), async () => {
        read.link = await methods.linkByMerchantOrder(id);
        return read.link === null ? null : read.link.legacy_id;
      });
      return read.link !== undefined || legacy_id === null ? (read.link ?? null) : link(legacy_id);
    },
    linksByClientReference: async (merchant_id, reference, limit) => {
      const read: { links?: Link[] } = {};
      const look = async (): Promise<Referenced | null> => {
        read.links = await methods.linksByClientReference(merchant_id, reference, limit);
        if (read.links.length > KEPT_LINKS) return null;
        return { ids: read.links.map(({ legacy_id }) => legacy_id), is_all: read.links.length < limit };
      };
      const found = await known().get('reference', referenceKey(merchant_id, reference), look);
      if (read.links !== undefined || found === null) return read.links ?? [];
      if (!found.is_all && found.ids.length < limit)
        return methods.linksByClientReference(merchant_id, reference, limit);
      return (await Promise.all(found.ids.slice(0, limit).map(link))).filter((one) => one !== null);
    },
    heldByLegacy: async (merchant_id, slot, now, which) => {
      // By merchant, not by unit: most merchants have nothing on legacy, and one has thousands of units.
      const known_until = await known().get('held_until', merchant_id, async () => ({
        at: await heldUntil(merchant_id),
      }));
      const is_free = known_until !== null && now >= known_until.at;
      return is_free ? null : methods.heldByLegacy(merchant_id, slot, now, which);
    },
  };
}

/** Links that a reference names, newest first. */
interface Referenced {
  ids: readonly string[];
  /** There are no more than these. */
  is_all: boolean;
}
