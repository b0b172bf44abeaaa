/** Leases: a due row that one store has taken goes to no other until it is done, or until that store counts as dead. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Reader } from '../engine.ts';
import { openPool, type PoolSettings } from './pool.ts';
import { readerOn } from './reader.ts';

/** Half exceeds the longest call (`notices.timeout_ms`, two minutes); a live store renews leases of running work. */
export const LEASE_SECONDS = 300;
/** After so long without a heartbeat a store counts as dead, and its leases are free (`docs/protocol.md` P14). */
export const SILENT_SECONDS = 15;
export const HEARTBEAT_MS = 4_000;
/** How long a stop waits for a running heartbeat, which may take another 4.5 s. */
const LAST_BEAT_MS = HEARTBEAT_MS / 2;
/** For so long an expired lease still shows that an event was read. */
const KEPT_SECONDS = 3_600;

type Leased = 'link' | 'notice' | 'event';

const LONG_AGO = `clock_timestamp() - interval '${SILENT_SECONDS} seconds'`;
/** In an outage no heartbeat arrives, so a holder is silent only if another one kept sending. Older versions list none. */
const HOLDER_IS_SILENT = `EXISTS (SELECT 1 FROM lease_holders WHERE lease_holders.name = leases.holder
  AND lease_holders.seen_at < ${LONG_AGO}) AND EXISTS (SELECT 1 FROM lease_holders AS others
  WHERE others.name <> leases.holder AND others.since < ${LONG_AGO} AND others.seen_at > ${LONG_AGO})`;

/**
 * Not taken by another live store; the value is this store's name. OFFSET forces a lookup by the key for each row: a
 * join would read all leases when the planner expects many rows, and there are as many as rows were due within an hour.
 * @param id SQL expression of the row's id.
 */
export function isFree(what: Leased, id: string): string {
  return `NOT EXISTS (SELECT 1 FROM leases WHERE leases.what = '${what}' AND leases.id = ${id}
    AND leases.holder <> ? AND leases.until > clock_timestamp() AND NOT (${HOLDER_IS_SILENT}) OFFSET 0)`;
}

/**
 * Takes rows and returns the rows that this store holds then. When two stores choose the same row, its lease decides. A
 * lease is renewed after half its time, not at each read: a backlog is read once for every notice sent. Rows are compared
 * by NOT IN and by IN with OR, which hash: the planner expects one row, and would join each of hundreds with all others. The values are those
 * of `chosen`, and this store's name.
 * @param chosen a SELECT of a table, whose row's id is `key`. It locks its rows and skips locked ones; or, where it
 * reads a backlog again and again, leaves that to `locked`: a SELECT by `fresh`, for rows without a lease only. Then rows
 * that another store takes meanwhile count in the limit, and a held row is returned as it was when the read began.
 */
export function claimOf(what: Leased, key: string, chosen: string, locked = 'SELECT fresh.lease_id AS id'): string {
  return `WITH chosen AS MATERIALIZED (${chosen}), me (holder) AS (SELECT CAST(? AS TEXT)), held AS MATERIALIZED (
      SELECT mine.id FROM chosen CROSS JOIN me CROSS JOIN LATERAL (SELECT leases.id FROM leases
        WHERE leases.what = '${what}' AND leases.id = CAST(chosen.${key} AS TEXT) AND leases.holder = me.holder
        AND leases.until > clock_timestamp() + interval '${LEASE_SECONDS / 2} seconds' OFFSET 0) AS mine
    ), fresh AS (
      SELECT CAST(${key} AS TEXT) AS lease_id, chosen.* FROM chosen WHERE CAST(${key} AS TEXT) NOT IN (SELECT held.id FROM held)
    ), taken AS (
      INSERT INTO leases (what, id, holder, until)
      SELECT '${what}', free.id, me.holder, clock_timestamp() + interval '${LEASE_SECONDS} seconds'
      FROM fresh CROSS JOIN me CROSS JOIN LATERAL (${locked}) AS free
      ORDER BY 2
      ON CONFLICT (what, id) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE leases.holder = excluded.holder OR leases.until <= clock_timestamp() OR (${HOLDER_IS_SILENT})
      RETURNING id)
    SELECT * FROM chosen WHERE CAST(${key} AS TEXT) IN (SELECT held.id FROM held) OR CAST(${key} AS TEXT) IN (SELECT taken.id FROM taken)`;
}

/**
 * Lists the store and sends its heartbeat until `release`, on its own connection: the pool may be busy for longer than
 * a store may be silent.
 * @throws PuenteError store_failed when it could not be listed.
 */
export async function openLeases(reader: Reader, holder: string, { url, ...settings }: PoolSettings & { url: string }) {
  const limits = { ...settings, ...beatLimits(settings), connections: 1 };
  const own = openPool(url, limits);
  const beats = readerOn(own, limits).prepare<[string], never>(`INSERT INTO lease_holders (name, seen_at, since)
    VALUES (?, clock_timestamp(), clock_timestamp()) ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at,
      since = CASE WHEN lease_holders.seen_at < ${LONG_AGO} THEN excluded.since ELSE lease_holders.since END`);
  const release = reader.prepare<[string], never>('DELETE FROM leases WHERE holder = ?');
  const leave = reader.prepare<[string], never>('DELETE FROM lease_holders WHERE name = ?');
  const tidy = reader.prepare<[], never>(
    `DELETE FROM leases WHERE until < clock_timestamp() - interval '${KEPT_SECONDS} seconds'`,
  );
  const forget = reader.prepare<[], never>(
    `DELETE FROM lease_holders WHERE seen_at < clock_timestamp() - interval '${KEPT_SECONDS} seconds'`,
  );
  const beat = async (): Promise<unknown> => beats.all(holder);
  await beat().catch(async (error: unknown) => {
    await own.end();
    throw error;
  });
  // While the server is away no store takes rows.
  const beating = setInterval(() => void beat().catch(() => undefined), HEARTBEAT_MS).unref();
  return {
    async release(): Promise<void> {
      clearInterval(beating);
      // First the heartbeat ends: a running one would list the store again. A later one does no harm: it lists a store
      // without leases, which `tidy` removes.
      await Promise.race([own.end(), pause(LAST_BEAT_MS, undefined, { ref: false })]);
      await release.all(holder);
      await leave.all(holder);
    },
    async tidy(): Promise<void> {
      await tidy.all();
      await forget.all();
    },
  };
}

/**
 * Limits a heartbeat so that a second try is in time: it begins 4 s after the one before, and each try takes at most 2
 * s for a connection and 2.5 s for the answer (`ANSWER_GRACE_MS`), with 0.05 s between. 4 + 4.5 + 0.05 + 4.5 = 13.05 s,
 * of the 15 s that a store may be silent. When both tries hang, the first on the open connection, they end at 4 + 2.5 +
 * 0.05 + 4.5 = 11.05 s, and the heartbeat at 12 s has a new connection.
 */
export function beatLimits({ connect_timeout_ms, statement_timeout_ms }: Omit<PoolSettings, 'connections'>) {
  return {
    connect_timeout_ms: Math.min(connect_timeout_ms, HEARTBEAT_MS / 2),
    statement_timeout_ms: Math.min(statement_timeout_ms, HEARTBEAT_MS / 2),
  };
}
