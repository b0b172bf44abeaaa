/** The embedded store: one SQLite file, one process, grouped durable commits, reads without a round trip. */

import type { KeyObject } from 'node:crypto';
import { dirname, join } from 'node:path';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { PuenteError } from '../../error.ts';
import type { Store } from '../../ops/ports.ts';
import { type Failpoint, noFailpoint } from '../../proxy/process-memory.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Room } from '../../proxy/records/upkeep.ts';
import { createCover, noCover } from '../../proxy/vault.ts';
import { type HandOut, portsOf, type StoreMethods, storeFailed, type Value } from '../engine.ts';
import { rowByRow, tidierOf } from '../exchanges.ts';
import { sharedMethods } from '../methods.ts';
import { readMigrations } from '../migrations.ts';
import { dueEventsRead, tidyInbox } from '../notices.ts';
import { doubtLegacySales } from '../routing.ts';
import { type LinkRow, linkOf, type NoticeRow } from '../rows.ts';
import { SALE } from '../writes.ts';
import type { DiskSettings } from './disk.ts';
import { MIGRATIONS_DIRECTORY, prepareFile, realPathOf, type SealNoticeUrl, takeInstanceLock } from './file.ts';
import { startWriterThread, WriteQueue } from './group-commit.ts';
import { openReader, type Reader } from './reader.ts';
import { withKnownRows } from './row-cache.ts';
import { openUpkeep, type Upkept, upkeepInMemory } from './upkeep.ts';

const TIDY_INTERVAL_MS = 60 * 60_000;

export interface SqliteStoreOptions {
  path: string;
  /** Make the file when there is none; without it a missing file is refused, because every link would be gone. */
  create: boolean;
  /** Epoch ms. */
  now: () => number;
  /** Called once when the disk or the file can't be trusted any more: stop accepting and exit non-zero. */
  onFatal?: (error: PuenteError) => void;
  /** Passed at named moments of opening and committing; a crash test may stop the process there. */
  failpoint?: Failpoint;
  /** Refuses a file whose values were sealed with another key; see `FileOptions`. */
  key_mark?: string;
  /** Covers a till's own text that shows a card number or a token (`proxy/vault.ts`); without it nothing is covered. */
  cover_key?: KeyObject;
  /** Seals notice URLs that the first builds kept in clear. */
  sealNoticeUrl?: SealNoticeUrl;
  /** Upper limit of the file in pages of 4 KiB; reaching it is answered as a full disk is. */
  max_pages?: number;
  /** Where backups go; the folder `backups` beside the file by default. */
  backup_directory?: string;
  /** Without it the disk is watched, and nothing is refused. */
  disk?: DiskSettings;
  /** Called when the room on the disk changes. */
  onRoom?: (room: Room) => void;
}

/** Nothing is low, and nothing is kept in reserve. */
const UNWATCHED: DiskSettings = { low_bytes: 0, ballast_bytes: 0, log_limit_bytes: Number.POSITIVE_INFINITY };

/**
 * Opens the store and takes the file's instance lock until `close`.
 * @throws PuenteError store_unusable, naming what is wrong with the file and the repair.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { create, now, failpoint = noFailpoint } = options;
  const path = realPathOf(options.path);
  const lock = takeInstanceLock(path);
  let queue: WriteQueue | null = null;
  let reader: Reader | null = null;
  try {
    const { key_mark, cover_key, sealNoticeUrl } = options;
    const cover = cover_key === undefined ? noCover : createCover(cover_key);
    prepareFile({
      path,
      create,
      now,
      migrations_directory: MIGRATIONS_DIRECTORY,
      failpoint,
      cover,
      ...(key_mark === undefined ? {} : { key_mark }),
      ...(sealNoticeUrl === undefined ? {} : { sealNoticeUrl }),
    });
    const thread = await startWriterThread({
      path,
      opened_at: now(),
      max_pages: options.max_pages ?? 0,
      ...(cover_key === undefined ? {} : { cover_key }),
    });
    const writer = new WriteQueue(thread, options.onFatal ?? (() => undefined), failpoint);
    queue = writer;
    reader = openReader(path, (failure, text) => writer.readFailed(failure, text), cover);
    await writer.commit(tidyInbox(now()));
    await writer.commit(doubtLegacySales(now()));
    const upkeep = await openUpkeep(reader, writer, {
      path,
      now,
      failpoint,
      newest_schema: readMigrations(MIGRATIONS_DIRECTORY).length,
      backup_directory: options.backup_directory ?? join(dirname(path), 'backups'),
      disk: options.disk ?? UNWATCHED,
      ...(options.onRoom === undefined ? {} : { onRoom: options.onRoom }),
    });
    return assembleStore({ queue: writer, reader, now, release: lock.release, upkeep });
  } catch (error) {
    reader?.close();
    await queue?.close();
    lock.release();
    throw error;
  }
}

/** The store on an open queue and reader; a simulation hands in both on one connection in memory. */
export function assembleStore(parts: {
  queue: WriteQueue;
  reader: Reader;
  /** Epoch ms. */
  now: () => number;
  release: () => void;
  /** Without it the store has no file to look after. */
  upkeep?: Upkept;
}): Store {
  const { queue, reader, now } = parts;
  const { stop: stopUpkeep, ...upkeep } = parts.upkeep ?? upkeepInMemory(reader, queue, now);
  const tidying = setInterval(
    () => void queue.commit(tidyInbox(now())).catch(() => undefined),
    TIDY_INTERVAL_MS,
  ).unref();
  const shared = sharedMethods({
    reader,
    writer: queue,
    now,
    room: upkeep.room,
    rowsOf: rowByRow,
    handOut: handOutFrom(reader),
    prepareFirst: (select, order) => firstOfEachFrom(reader, select, order),
  });
  const inbox = inboxMethods(reader, queue);
  let closing: Promise<void> | null = null;
  const close = async () => {
    clearInterval(tidying);
    await stopUpkeep();
    await queue.close();
    reader.close();
    parts.release();
  };
  return portsOf({
    ...withKnownRows(shared, () => queue.known()),
    ...inbox,
    ...anyMerchantMethods(reader),
    tidyExchanges: tidierOf(reader, queue),
    ...upkeep,
    ...whereThereIsRoom({ ...inbox, ...shared }, upkeep.room),
    healthy: () => queue.healthy(),
    close: () => {
      closing ??= close();
      return closing;
    },
  });
}

/**
 * The reserve of a full disk is for sales under way (`test/faults/README.md` F44): upstream sends its events again, and creates
 * are proxied to legacy without a row.
 */
function whereThereIsRoom(
  { receiveEvent, openLegacySale }: Pick<StoreMethods, 'receiveEvent' | 'openLegacySale'>,
  room: () => Room,
): Pick<StoreMethods, 'receiveEvent' | 'openLegacySale'> {
  const full = (): Promise<never> => Promise.reject(storeFailed('full', 'the disk is full'));
  const is_full = (): boolean => room().level === 'full';
  return {
    receiveEvent: (event) => (is_full() ? full() : receiveEvent(event)),
    openLegacySale: (sale) => (is_full() ? full() : openLegacySale(sale)),
  };
}

// Due rows, where one process has them all.

function handOutFrom(reader: Reader): HandOut {
  return <Values extends Value[], Row>(_what: string, select: string, order: string) =>
    reader.prepare<[...Values, number], Row>(`${select} ORDER BY ${order} LIMIT (SELECT ?)`).all;
}

/** The oldest due notices of each merchant. */
function firstOfEachFrom(reader: Reader, select: string, order: string) {
  const first = reader.prepare<[string, number, number], NoticeRow>(`${select} ORDER BY ${order} LIMIT (SELECT ?)`);
  return (ids: readonly string[], now: number, each: number) => ids.flatMap((id) => first.all(id, now, each));
}

// The inbox: events are committed before they are acknowledged, and merged until they are handed out.

function inboxMethods(reader: Reader, queue: WriteQueue) {
  const due = dueEventsRead(handOutFrom(reader));
  // An event that was handed out may have been read upstream already: what happens now might not be in that answer any more,
  // so an identical event is merged only into a later one.
  let handedOut = 0;
  return {
    async receiveEvent({ received_at, order_id, reference, user_id, verified: is_verified, action }) {
      const verified = is_verified ? 1 : 0;
      const row = [received_at, order_id, reference, user_id, verified, action, received_at];
      const same = [order_id, reference, user_id, verified, action, handedOut];
      await queue.commit({ steps: [{ write: 'receive_event', values: [...row, ...same] }] });
    },
    async dueEvents(now, limit) {
      const events = await due(now, limit);
      for (const { sequence } of events) handedOut = Math.max(handedOut, sequence);
      return events;
    },
  } satisfies Partial<StoreMethods>;
}

// Sales of all merchants by a reference alone: one look into the index of each merchant, and no index of their own.

/** Merchants looked at in one go: a few ms, so that nothing waits longer for it. */
const SELLERS_A_TICK = 200;

function anyMerchantMethods(reader: Reader) {
  const linkPlaces = placesIn(reader, {
    sellers: 'links',
    places: `SELECT rowid AS place, created_at AS at FROM links WHERE merchant_id = (SELECT ?)
      AND client_reference = (SELECT cover(?)) ORDER BY created_at DESC LIMIT ?`,
  });
  const link = reader.prepare<[number], LinkRow>('SELECT * FROM links WHERE rowid = ?');
  const salePlaces = placesIn(reader, {
    sellers: 'legacy_sales INDEXED BY legacy_sales_by_reference',
    condition: 'client_reference IS NOT NULL',
    // Rows are written in the order in which sales begin.
    places: `SELECT sequence AS place, sequence AS at FROM legacy_sales WHERE merchant_id = (SELECT ?)
      AND client_reference = (SELECT cover(?)) ORDER BY sequence DESC LIMIT ?`,
  });
  const sale = reader.prepare<[number], LegacySale>(`SELECT ${SALE} FROM legacy_sales WHERE sequence = ?`);
  return {
    linksByAnyReference: async (reference, limit) =>
      (await linkPlaces(reference, limit)).flatMap((place) => link.all(place)).map(linkOf),
    legacySalesByAnyReference: async (reference, limit) =>
      (await salePlaces(reference, limit)).flatMap((place) => sale.all(place)),
  } satisfies Partial<StoreMethods>;
}

interface Place {
  place: number;
  /** Rises with time. */
  at: number;
}

interface Search {
  sellers: string;
  condition?: string;
  /** The newest of one merchant, from the index alone. */
  places: string;
}

/** Where the newest rows are. Each merchant is found by one step along an index; a DISTINCT would read every row. */
function placesIn(reader: Reader, { sellers, condition = '1', places }: Search) {
  const next = reader.prepare<[string], { seller: string | null }>(
    `SELECT min(merchant_id) AS seller FROM ${sellers} WHERE merchant_id > ? AND ${condition}`,
  );
  const newest = reader.prepare<[string, string, number], Place>(places);
  return async (reference: string, limit: number): Promise<number[]> => {
    const found: Place[] = [];
    let seller = next.get('')?.seller ?? null;
    for (let looked = 1; seller !== null; looked++) {
      found.push(...newest.all(seller, reference, limit));
      seller = next.get(seller)?.seller ?? null;
      if (looked % SELLERS_A_TICK === 0) await yieldToEventLoop();
    }
    return found
      .toSorted((first, second) => second.at - first.at)
      .slice(0, limit)
      .map(({ place }) => place);
  };
}
