/** Leases: a due row that one store has taken is handed to no other while that one works on it, or until it is thought dead. */
import type { PostgresReader } from './reader.ts';

/** Longer than any call to the service or to a receiver takes; a store that lives takes what it still works on again. */
export const LEASE_SECONDS = 60;
/** Leases that ended are of no use to anybody; so long they still tell that an event was read. */
const KEPT_SECONDS = 3_600;

export type Leased = 'link' | 'notice' | 'event';

/** Not taken by another store; the value is this store's name. @param id of the row, as an expression. */
export function isFree(what: Leased, id: string): string {
  return `NOT EXISTS (SELECT 1 FROM leases WHERE leases.what = '${what}' AND leases.id = ${id}
    AND leases.holder <> ? AND leases.until > clock_timestamp())`;
}

/**
 * Takes rows and answers those that are this store's now. Two stores that chose the same row meet at its lease, and one goes
 * without. The values are those of `chosen`, and this store's name.
 * @param chosen a SELECT of a table that locks its rows and passes those that are locked; `key` is the row's id in it.
 */
export function claimOf(what: Leased, key: string, chosen: string): string {
  return `WITH chosen AS MATERIALIZED (${chosen}), taken AS (
      INSERT INTO leases (what, id, holder, until)
      SELECT '${what}', CAST(${key} AS TEXT), ?, clock_timestamp() + interval '${LEASE_SECONDS} seconds' FROM chosen
      ORDER BY 2
      ON CONFLICT (what, id) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE leases.holder = excluded.holder OR leases.until <= clock_timestamp()
      RETURNING id)
    SELECT chosen.* FROM chosen JOIN taken ON taken.id = CAST(chosen.${key} AS TEXT)`;
}

export interface Leases {
  /** Everything that this store has taken is free again. */
  release(): Promise<void>;
  tidy(): Promise<void>;
}

/** @param holder this store's name. */
export function leasesOf(reader: PostgresReader, holder: string): Leases {
  const release = reader.prepare<[string], never>('DELETE FROM leases WHERE holder = ?');
  const tidy = reader.prepare<[], never>(
    `DELETE FROM leases WHERE until < clock_timestamp() - interval '${KEPT_SECONDS} seconds'`,
  );
  return {
    release: async () => void (await release.all(holder)),
    tidy: async () => void (await tidy.all()),
  };
}
