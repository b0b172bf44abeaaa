/** The store of several processes and hosts: a PostgreSQL database, one round trip for each write, no leader. */

import { type KeyObject, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Store } from '../../ops/ports.ts';
import { createCover, noCover } from '../../proxy/cover.ts';
import type { Failpoint } from '../../proxy/process-memory.ts';
import type { Secret } from '../../proxy/vault.ts';
import { portsOf, type StoreMethods, type Upkeep } from '../engine.ts';
import { tidyInbox } from '../events.ts';
import { manyAtOnce } from '../exchanges.ts';
import { sharedMethods } from '../methods.ts';
import { doubtLegacySales } from '../routing.ts';
import { anyMerchantMethods, firstOfEachTo, handOutTo, inboxMethods } from './due.ts';
import { type Leases, openLeases } from './leases.ts';
import { type Health, openPool, type PoolSettings, watchHealth, withConnection } from './pool.ts';
import { locationOf, postgresMigrations, prepareDatabase } from './prepare.ts';
import { type PostgresReader, readerOn } from './reader.ts';
import { openUpkeep, spanMethods } from './upkeep.ts';
import { openWriter, type PostgresWriter } from './writer.ts';

/** What another process left half done is looked after so often: as soon as its requests can't arrive any more. */
const TIDY_INTERVAL_MS = 60_000;

export interface PostgresStoreOptions extends PoolSettings {
  /** `postgres://user:password@host:port/database?sslmode=…`. */
  url: Secret;
  /** Epoch ms. */
  now: () => number;
  failpoint?: Failpoint;
  /** Refuses a database whose values were sealed with another key. */
  key_mark?: string;
  /** Covers a till's own text that shows a card number or a token (`proxy/cover.ts`); without it nothing is covered. */
  cover_key?: KeyObject;
}

/**
 * Opens the store on a server of which any number of processes may have it open.
 * @throws PuenteError store_unusable, naming what is wrong with the server or the database and the repair.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, now, key_mark, failpoint, connect_timeout_ms } = options;
  const cover = options.cover_key === undefined ? noCover : createCover(options.cover_key);
  const location = locationOf(url.reveal());
  const migrations = postgresMigrations();
  await prepareDatabase({
    url: url.reveal(),
    location,
    connect_timeout_ms,
    now,
    migrations,
    ...(key_mark === undefined ? {} : { key_mark }),
    ...(failpoint === undefined ? {} : { failpoint }),
  });
  const pool = openPool(url.reveal(), options);
  const health = watchHealth(() => takesWrites(pool));
  const reader = readerOn(pool, options, cover);
  const writer = openWriter(pool, health.note, cover);
  try {
    await writer.commit(tidyInbox(now()));
    await writer.commit(doubtLegacySales(now()));
    const upkeep = await openUpkeep(reader, writer, { location, newest_schema: migrations.length, now });
    const holder = randomUUID();
    const leases = await openLeases(reader, holder, { ...options, url: url.reveal() });
    return assembleStore({ pool, reader, writer, health, upkeep, now, holder, leases });
  } catch (error) {
    health.stop();
    await pool.end();
    throw error;
  }
}

interface Parts {
  pool: Pool;
  reader: PostgresReader;
  writer: PostgresWriter;
  health: Health;
  upkeep: Upkeep;
  now: () => number;
  /** This store's name on what it takes. */
  holder: string;
  leases: Leases;
}

function assembleStore({ pool, reader, writer, health, upkeep, now, holder, leases }: Parts): Store {
  const tidying = setInterval(() => void tidy(writer, leases, now()).catch(() => undefined), TIDY_INTERVAL_MS).unref();
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    clearInterval(tidying);
    health.stop();
    await writer.close();
    // Without an answer they end by themselves.
    await leases.release().catch(() => undefined);
    await pool.end();
  };
  const shared = sharedMethods({
    reader,
    writer,
    now,
    room: upkeep.room,
    rowsOf: manyAtOnce,
    handOut: handOutTo(reader, holder),
    prepareFirst: (select, order) => firstOfEachTo(reader, holder, select, order),
  });
  return portsOf({
    ...withUnit(shared),
    ...inboxMethods(reader, writer, holder),
    ...anyMerchantMethods(reader),
    ...spanMethods(reader, writer, now),
    ...upkeep,
    healthy: health.healthy,
    close: () => {
      closing ??= close();
      return closing;
    },
  });
}

/**
 * The unit is looked at in the same round trip: a call that is routed to orders would ask next; for one that stays on legacy it
 * is a statement more.
 */
function withUnit<Methods extends Pick<StoreMethods, 'merchantWithToken' | 'heldByLegacy'>>(methods: Methods): Methods {
  return {
    ...methods,
    async merchantWithToken(merchant_id, fingerprint, unit) {
      const [seen, held] = await Promise.all([
        methods.merchantWithToken(merchant_id, fingerprint, unit),
        unit === null ? null : methods.heldByLegacy(merchant_id, unit.slot, unit.now),
      ]);
      return seen === null ? null : { ...seen, is_free: unit !== null && held === null };
    },
  };
}

async function tidy(writer: PostgresWriter, leases: Leases, now: number): Promise<void> {
  await writer.commit(tidyInbox(now));
  await writer.commit(doubtLegacySales(now));
  await leases.tidy();
}

async function takesWrites(pool: Pool): Promise<boolean> {
  const { rows } = await withConnection(pool, (client) =>
    client.query<{ read_only: string }>(`SELECT current_setting('transaction_read_only') AS read_only`),
  );
  return rows[0]?.read_only === 'off';
}
