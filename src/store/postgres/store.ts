/** The store of several processes and hosts: a PostgreSQL database, one round trip per write, no leader. */

import { type KeyObject, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Store } from '../../ops/ports.ts';
import type { Failpoint } from '../../proxy/process-memory.ts';
import { createCover, noCover, type Secret } from '../../proxy/vault.ts';
import { unindexed } from '../conditions.ts';
import {
  type FirstOfEach,
  type HandOut,
  portsOf,
  type Reader,
  type StoreMethods,
  type Upkeep,
  type Value,
  type Writer,
} from '../engine.ts';
import { manyAtOnce } from '../exchanges.ts';
import { sharedMethods } from '../methods.ts';
import { dueEventsRead, tidyInbox } from '../notices.ts';
import { doubtLegacySales } from '../routing.ts';
import { claimOf, isFree, openLeases } from './leases.ts';
import { openPool, type PoolSettings, watchHealth, withConnection } from './pool.ts';
import { locationOf, postgresMigrations, prepareDatabase } from './prepare.ts';
import { readerOn } from './reader.ts';
import { openUpkeep, spanMethods } from './upkeep.ts';
import { openWriter } from './writer.ts';

/** Interval of cleaning up after other processes: as soon as their requests can't arrive any more. */
const TIDY_INTERVAL_MS = 60_000;

export interface PostgresStoreOptions extends PoolSettings {
  /** `postgres://user:password@host:port/database?sslmode=…`. */
  url: Secret;
  /** Epoch ms. */
  now: () => number;
  failpoint?: Failpoint;
  /** Refuses a database whose values were sealed with another key. */
  key_mark?: string;
  /** Encrypts text of a till with a card number or a token (`proxy/vault.ts`); without it such text stays plain. */
  cover_key?: KeyObject;
}

/** Any number of processes may open it. @throws PuenteError store_unusable, naming the fault and the repair. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, now, key_mark, failpoint, connect_timeout_ms } = options;
  const cover = options.cover_key === undefined ? noCover : createCover(options.cover_key);
  const location = locationOf(url.reveal());
  const migrations = postgresMigrations();
  await prepareDatabase({ url: url.reveal(), location, connect_timeout_ms, now, migrations, key_mark, failpoint });
  const pool = openPool(url.reveal(), options);
  const health = watchHealth(() => takesWrites(pool));
  const reader = readerOn(pool, options, cover);
  const writer = openWriter(pool, health.note, cover);
  const tidy = async (): Promise<void> => {
    await writer.commit(tidyInbox(now()));
    await writer.commit(doubtLegacySales(now()));
  };
  try {
    await tidy();
    const upkeep = await openUpkeep(reader, writer, { location, newest_schema: migrations.length, now });
    /** This store's name on its leases. */
    const holder = randomUUID();
    const leases = await openLeases(reader, holder, { ...options, url: url.reveal() });
    const tidying = setInterval(
      () =>
        void tidy()
          .then(leases.tidy)
          .catch(() => undefined),
      TIDY_INTERVAL_MS,
    ).unref();
    let closing: Promise<void> | null = null;
    const close = async (): Promise<void> => {
      clearInterval(tidying);
      health.stop();
      await writer.close();
      // Without an answer the leases expire.
      await leases.release().catch(() => undefined);
      await pool.end();
    };
    return portsOf({
      ...methodsOf(reader, writer, upkeep, now, holder),
      healthy: health.healthy,
      close: () => {
        closing ??= close();
        return closing;
      },
    });
  } catch (error) {
    health.stop();
    await pool.end();
    throw error;
  }
}

function methodsOf(reader: Reader, writer: Writer, upkeep: Upkeep, now: () => number, holder: string): StoreMethods {
  const shared = sharedMethods({
    reader,
    writer,
    now,
    room: upkeep.room,
    rowsOf: manyAtOnce,
    handOut: handOutTo(reader, holder),
    firstOfEach: firstOfEachTo(reader, holder),
  });
  return {
    ...withUnit(shared),
    ...inboxMethods(reader, writer, holder),
    ...spanMethods(reader, writer, now),
    turnToAsk: turnsOf(reader),
    ...upkeep,
  };
}

/** By the server's clock, and longer than runs ever queue. A later turn is of before that clock was set back. */
const LATEST_TURN_MS = 600_000;

function turnsOf(reader: Reader): StoreMethods['turnToAsk'] {
  const now = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)';
  const last = 'CAST(meta.value AS BIGINT)';
  const take = reader.prepare<[number], { wait_ms: number }>(
    `INSERT INTO meta (name, value) VALUES ('legacy_turn', CAST(${now} AS TEXT)) ON CONFLICT (name) DO UPDATE SET value =
       CAST(CASE WHEN ${last} > ${now} + ${LATEST_TURN_MS} THEN ${now} ELSE greatest(${now}, ${last} + ?) END AS TEXT)
     RETURNING CAST(greatest(0, ${last} - ${now}) AS INTEGER) AS wait_ms`,
  );
  return async (every_ms) => (await take.get(every_ms))?.wait_ms ?? 0;
}

/** Reads the unit in the same round trip: orders needs it next; for legacy it is one more statement. */
function withUnit<Methods extends Pick<StoreMethods, 'merchantWithToken' | 'heldByLegacy'>>(methods: Methods): Methods {
  return {
    ...methods,
    async merchantWithToken(merchant_id, fingerprint, unit) {
      const [stored, held] = await Promise.all([
        methods.merchantWithToken(merchant_id, fingerprint, unit),
        unit === null ? null : methods.heldByLegacy(merchant_id, unit.slot, unit.now),
      ]);
      return stored === null ? null : { ...stored, is_free: unit !== null && held === null };
    },
  };
}

async function takesWrites(pool: Pool): Promise<boolean> {
  const { rows } = await withConnection(pool, (client) =>
    client.query<{ read_only: string }>(`SELECT current_setting('transaction_read_only') AS read_only`),
  );
  return rows[0]?.read_only === 'off';
}

// Due rows: each is handed to one store only.

/**
 * Conditions of a free row; the values are the store's name. A notice waits while another store still delivers an older
 * one of the same topic and id, so that the newer one reaches its receiver last.
 */
const FREE = {
  link: { key: 'legacy_id', condition: isFree('link', 'legacy_id'), names: 1 },
  event: { key: 'sequence', condition: isFree('event', 'CAST(events.sequence AS TEXT)'), names: 1 },
  notice: {
    key: 'id',
    condition: `${isFree('notice', 'notices.id')} AND NOT EXISTS (SELECT 1 FROM notices AS older
  WHERE older.legacy_id = notices.legacy_id AND older.sequence < notices.sequence AND ${unindexed('older.state')} = 'superseded'
  AND older.form = notices.form AND older.topic = notices.topic AND older.subject = notices.subject
  AND NOT ${isFree('notice', 'older.id')} OFFSET 0)`,
    names: 2,
  },
};

function handOutTo(reader: Reader, holder: string): HandOut {
  return <Values extends Value[], Row>(what: keyof typeof FREE, select: string, order: string) => {
    const { key, condition, names } = FREE[what];
    const chosen = `${select} AND ${condition} ORDER BY ${order} LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`;
    const read = reader.prepare<Value[], Row>(`${claimOf(what, key, chosen)} ORDER BY ${order}`);
    const holders = Array(names).fill(holder);
    return (...values: [...Values, limit: number]) =>
      read.all(...values.slice(0, -1), ...holders, values.at(-1) ?? 0, holder);
  };
}

/** All merchants in one round trip. */
function firstOfEachTo(reader: Reader, holder: string): FirstOfEach {
  return <Row>(what: 'notice' | null, select: string, order: string) => {
    const [free, locked] = what === null ? ['', ''] : [`AND ${FREE[what].condition}`, 'FOR NO KEY UPDATE SKIP LOCKED'];
    const chosen = `SELECT first.* FROM json_array_elements_text(?::json) AS merchant (id) CROSS JOIN LATERAL (
      ${select.replace('merchant_id = (SELECT ?)', 'merchant_id = merchant.id')} ${free}
      ORDER BY ${order} LIMIT ? ${locked}) AS first`;
    const sql = what === null ? chosen : `${claimOf(what, 'id', chosen)} ORDER BY merchant_id, ${order}`;
    const read = reader.prepare<Value[], Row>(sql);
    return (ids: readonly string[], value: Value, each: number) => {
      const list = JSON.stringify(ids);
      return what === null ? read.all(list, value, each) : read.all(list, value, holder, holder, each, holder);
    };
  };
}

// The inbox: events are committed before they are answered; equal ones are merged until a store takes them.

function inboxMethods(reader: Reader, writer: Writer, holder: string) {
  return {
    async receiveEvent({ received_at, order_id, reference, user_id, verified, action }) {
      const same = [order_id, reference, user_id, verified ? 1 : 0, action];
      // Two events that arrive at once would not see each other.
      const locks = { alone: [`event ${JSON.stringify(same)}`] };
      await writer.commit({ steps: [{ write: 'receive_event', values: [received_at, ...same] }], locks });
    },
    dueEvents: dueEventsRead(handOutTo(reader, holder)),
  } satisfies Partial<StoreMethods>;
}
