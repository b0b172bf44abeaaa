/** The embedded store: one SQLite file, one process, grouped durable commits, reads without a round trip. */

import type { Store } from '../../core/store.ts';
import type { PuenteError } from '../../error.ts';
import { anyMerchantMethods } from './any-merchant.ts';
import { auditMethods } from './audit-lines.ts';
import { eventLogMethods } from './event-log.ts';
import { eventMethods, tidyInbox } from './events.ts';
import { exchangeMethods } from './exchanges.ts';
import { MIGRATIONS_DIRECTORY, prepareFile, realPathOf } from './file.ts';
import { findingMethods } from './findings.ts';
import { doubtLegacySales, legacySaleMethods } from './legacy-sales.ts';
import { linkHistoryMethods } from './link-history.ts';
import { linkMethods } from './links.ts';
import { takeInstanceLock } from './lock.ts';
import { merchantMethods } from './merchants.ts';
import { type Failpoint, noFailpoint } from './migrate.ts';
import { moveMethods } from './moves.ts';
import { noticeLogMethods } from './notice-log.ts';
import { noticeMethods } from './notices.ts';
import { openingMethods } from './openings.ts';
import { startWriter, type WriteQueue } from './queue.ts';
import { openReader, type Reader } from './reader.ts';
import { recordingMethods } from './recording.ts';
import { refundMethods } from './refunds.ts';
import { trafficMethods } from './traffic.ts';

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
  /** Upper limit of the file in pages of 4 KiB; reaching it is answered as a full disk is. */
  max_pages?: number;
}

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
    const { key_mark } = options;
    prepareFile({
      path,
      create,
      now,
      migrations_directory: MIGRATIONS_DIRECTORY,
      failpoint,
      ...(key_mark === undefined ? {} : { key_mark }),
    });
    const writer = await startWriter(
      { path, opened_at: now(), max_pages: options.max_pages ?? 0 },
      options.onFatal ?? (() => undefined),
      failpoint,
    );
    queue = writer;
    reader = openReader(path, (text) => writer.fail(text));
    await writer.commit(tidyInbox(now()));
    await writer.commit(doubtLegacySales(now()));
    return assemble({ queue: writer, reader, now, release: lock.release });
  } catch (error) {
    reader?.close();
    await queue?.close();
    lock.release();
    throw error;
  }
}

function assemble(parts: { queue: WriteQueue; reader: Reader; now: () => number; release: () => void }): Store {
  const { queue, reader, now } = parts;
  const tidying = setInterval(
    () => void queue.commit(tidyInbox(now())).catch(() => undefined),
    TIDY_INTERVAL_MS,
  ).unref();
  let closing: Promise<void> | null = null;
  const close = async () => {
    clearInterval(tidying);
    await queue.close();
    reader.close();
    parts.release();
  };
  return {
    ...merchantMethods(reader, queue, now),
    ...linkMethods(reader, queue, now),
    ...eventMethods(reader, queue),
    ...noticeMethods(reader, queue),
    ...noticeLogMethods(reader, queue),
    ...refundMethods(reader, queue, now),
    ...openingMethods(reader, queue),
    ...legacySaleMethods(reader, queue, now),
    ...linkHistoryMethods(reader),
    ...anyMerchantMethods(reader),
    ...eventLogMethods(reader),
    ...moveMethods(reader, queue, now),
    ...auditMethods(reader, queue),
    ...recordingMethods(reader, queue),
    ...exchangeMethods(reader, queue),
    ...trafficMethods(reader, queue),
    ...findingMethods(reader, queue),
    ...countMethods(reader),
    healthy: () => queue.healthy(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function countMethods(reader: Reader): Pick<Store, 'counts'> {
  const links = reader.prepare<[], { state: string; links: number }>('SELECT state, links FROM link_counts');
  const backlog = reader.prepare<[], { notices_pending: number; events_waiting: number }>(
    `SELECT (SELECT count(*) FROM notices WHERE state = 'pending') AS notices_pending,
       (SELECT count(*) FROM events WHERE state = 'pending') + (SELECT count(*) FROM events WHERE state = 'parked')
       AS events_waiting`,
  );
  return {
    counts: async () => ({
      links: Object.fromEntries(links.all().map((row) => [row.state, row.links])),
      ...(backlog.get() ?? { notices_pending: 0, events_waiting: 0 }),
    }),
  };
}
