/** The embedded store: one SQLite file, one process, grouped durable commits, reads without a round trip. */

import type { KeyObject } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { PuenteError } from '../../error.ts';
import type { Store } from '../../ops/ports.ts';
import { noFailpoint } from '../../proxy/process-memory.ts';
import type { Room } from '../../proxy/records/upkeep.ts';
import { createCover, noCover } from '../../proxy/vault.ts';
import { type FirstOfEach, type HandOut, portsOf, type StoreMethods, storeFailed, type Value } from '../engine.ts';
import { rowByRow, tidierOf } from '../exchanges.ts';
import { sharedMethods } from '../methods.ts';
import { readMigrations } from '../migrations.ts';
import { dueEventsRead, tidyInbox } from '../notices.ts';
import { doubtLegacySales } from '../routing.ts';
import { type DiskSettings, makeRoomToStart } from './disk.ts';
import { type FileOptions, MIGRATIONS_DIRECTORY, prepareFile, realPathOf, takeInstanceLock } from './file.ts';
import { type BeginWriter, startWriterThread, WriteQueue } from './group-commit.ts';
import { openReader, type Reader, withKnownRows } from './reader.ts';
import { openUpkeep, type Upkept, upkeepInMemory } from './upkeep.ts';

const TIDY_INTERVAL_MS = 60 * 60_000;

export interface SqliteStoreOptions
  extends Pick<FileOptions, 'path' | 'create' | 'now' | 'key_mark' | 'sealNoticeUrl' | 'failpoint'> {
  /** Called once when the disk or the file can't be trusted any more: stop accepting and exit non-zero. */
  onFatal?: (error: PuenteError) => void;
  /** Encrypts text of a till with a card number or a token (`proxy/vault.ts`); without it such text stays plain. */
  cover_key?: KeyObject;
  /** Upper limit of the file in pages of 4 KiB; it is answered like a full disk. */
  max_pages?: number;
  /** The folder `backups` beside the file by default. */
  backup_directory?: string;
  /** Without it the disk is watched, but nothing is refused. */
  disk?: DiskSettings;
  /** Called when the room on the disk changes its level, and when the log becomes large or small again. */
  onRoom?: (room: Room) => void;
  /** Starts the writer thread; by default one for this store alone. */
  beginWriter?: BeginWriter;
}

/** Nothing is low, and there is no reserve. */
const UNWATCHED: DiskSettings = { low_bytes: 0, ballast_bytes: 0, log_limit_bytes: Number.POSITIVE_INFINITY };

/** Holds the file's instance lock until `close`. @throws PuenteError store_unusable, naming fault and repair. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { now, failpoint = noFailpoint } = options;
  const path = realPathOf(options.path);
  const lock = takeInstanceLock(path);
  let queue: WriteQueue | null = null;
  let reader: Reader | null = null;
  try {
    const { cover_key } = options;
    const disk = await makeRoomToStart(path, options.disk ?? UNWATCHED);
    const cover = cover_key === undefined ? noCover : createCover(cover_key);
    prepareFile({ ...options, path, cover, migrations_directory: MIGRATIONS_DIRECTORY });
    const thread = await startWriterThread(
      {
        path,
        opened_at: now(),
        max_pages: options.max_pages ?? 0,
        ...(cover_key === undefined ? {} : { cover_key }),
      },
      options.beginWriter,
    );
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
      directory: options.backup_directory ?? join(dirname(path), 'backups'),
      disk,
      onRoom: options.onRoom,
    });
    return assembleStore({ queue: writer, reader, now, release: lock.release, upkeep });
  } catch (error) {
    reader?.close();
    await queue?.close();
    lock.release();
    throw error;
  }
}

/** The store on an open queue and reader; a simulation passes both on one connection in memory. */
export function assembleStore(parts: {
  queue: WriteQueue;
  reader: Reader;
  /** Epoch ms. */
  now: () => number;
  release: () => void;
  /** Without it the store has no file. */
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
    firstOfEach: firstOfEachFrom(reader),
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
    ...withKnownRows(shared, reader, () => queue.known()),
    ...inbox,
    tidyExchanges: tidierOf(reader, queue),
    turnToAsk: async () => 0, // there is one process
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
 * The reserve of a full disk is for sales under way (`test/faults/README.md` F44): upstream sends its events again, and
 * creates are proxied to legacy without a row.
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

// Due rows: the one process gets them all.

function handOutFrom(reader: Reader): HandOut {
  return <Values extends Value[], Row>(_what: string, select: string, order: string) =>
    reader.prepare<[...Values, number], Row>(`${select} ORDER BY ${order} LIMIT (SELECT ?)`).all;
}

function firstOfEachFrom(reader: Reader): FirstOfEach {
  return <Row>(_what: string | null, select: string, order: string) => {
    const first = reader.prepare<[string, Value, number], Row>(`${select} ORDER BY ${order} LIMIT (SELECT ?)`);
    return (ids: readonly string[], value: Value, each: number) => ids.flatMap((id) => first.all(id, value, each));
  };
}

// The inbox: events are committed before they are answered, and merged until they are handed out.

function inboxMethods(reader: Reader, queue: WriteQueue) {
  const due = dueEventsRead(handOutFrom(reader));
  // An order may have been read already for an event that was handed out: a newer equal event may not be in that
  // answer, so it is merged only into an event that was not handed out.
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
