/** Caches rows in memory: every call reads its merchant and token several times, tills poll the same sale, and all of them change rarely. */

import { createEntries, createLru } from '../../proxy/concurrency.ts';
import type { StoreMethods, Unit } from '../engine.ts';
import { type CachedKind, writes } from '../writes.ts';

/** Rows of each kind, most recently used. Fewer links, because each holds an order. */
const LIMITS: Readonly<Record<CachedKind, number>> = { merchant: 10_000, token: 10_000, link: 1_000 };

export type KnownRows = ReturnType<typeof createKnownRows>;

/** Correct only when all writes pass through one queue, which the instance lock guarantees. */
export function createKnownRows() {
  const kept = { merchant: keptRows('merchant'), token: keptRows('token'), link: keptRows('link') };
  return {
    /** The row that was read last, unless a write since then may have changed it. Absence is cached for merchants and tokens alone. */
    async get<Row>(kind: CachedKind, key: string, read: () => Promise<Row | null>): Promise<Row | null> {
      const rows = kept[kind];
      if (rows.isChanging(key)) return read();
      const known = rows.get(key) as Row | null | undefined; // all rows of a kind have one form
      if (known !== undefined) return known;
      const before = rows.changes();
      const row = await read();
      // Openings are many, and none of them invalidates the absence of a link.
      if (rows.changes() !== before || (row === null && kind === 'link')) return row;
      rows.set(key, row === null ? null : Object.freeze(row));
      return row;
    },
    /** Returns the commit of a unit; until it has ended, the rows that it may change are read from the file. */
    during<Result>(unit: Unit, commit: Promise<Result>): Promise<Result> {
      const changes = unit.steps.flatMap(({ write, values }) =>
        writes[write].invalidates.map(({ kind, keyOf }) => ({ kind, key: keyOf?.(values) ?? null })),
      );
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

/** Cached rows of one kind, and which of them are being changed; a null key means all of them. */
function keptRows(kind: CachedKind) {
  let rows = createLru<unknown>(LIMITS[kind]);
  /** Changes under way, by key; '' is every key. */
  const changing = createEntries<number>();
  /** Rises with each change, so that a row that was read before it is not cached. */
  let changes = 0;
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
      if (key === null) rows = createLru(LIMITS[kind]);
      else rows.delete(key);
    },
    // Nothing to forget: rows that are read during a change are not cached, and earlier ones are gone.
    end: (key: string | null) => count(key, -1),
  };
}

/** The same methods, which read from the file only when the cache has no answer. */
export function withKnownRows<Methods extends Pick<StoreMethods, 'merchant' | 'token' | 'link'>>(
  methods: Methods,
  known: () => KnownRows,
): Methods & Pick<StoreMethods, 'merchantWithToken'> {
  const merchant: StoreMethods['merchant'] = (id) => known().get('merchant', id, () => methods.merchant(id));
  const token: StoreMethods['token'] = (fingerprint) =>
    known().get('token', fingerprint, () => methods.token(fingerprint));
  return {
    ...methods,
    merchant,
    token,
    link: (legacy_id) => known().get('link', legacy_id, () => methods.link(legacy_id)),
    async merchantWithToken(merchant_id, fingerprint) {
      // The token first: the merchant that is read after it has the site that it was accepted with.
      const accepted = await token(fingerprint);
      const its = await merchant(merchant_id);
      if (its === null) return null;
      const accepted_until = accepted?.merchant_id === merchant_id ? accepted.accepted_until : null;
      // Whether the unit is free is left to its own read: that costs no more here, and most callers do not need it.
      return { merchant: its, accepted_until, is_free: false };
    },
  };
}
