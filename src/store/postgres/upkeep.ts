/** Upkeep of a database: condition, retention and erasure. Operators of the server care for backups and disk space. */

import { DAY_MS } from '../../contract/duration.ts';
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/message.ts';
import {
  conditionMethods,
  factsIn,
  noBackups,
  type Reader,
  type StoreMethods,
  type Upkeep,
  unwatchedRoom,
  type Writer,
} from '../engine.ts';
import { eraseMethods } from '../erase.ts';
import { tidierOf } from '../exchanges.ts';
import { retentionMethods } from '../retention.ts';
import { clientFor, textOf } from './pool.ts';
import { locationOf, refuseSettings } from './prepare.ts';

/** @throws PuenteError store_failed */
export async function openUpkeep(
  reader: Reader,
  writer: Writer,
  { location, newest_schema, now }: { location: string; newest_schema: number; now: () => number },
): Promise<Upkeep> {
  const { version, ...facts } = await factsOf(reader);
  const sizes = reader.prepare<[], { schema: number; file_bytes: number }>(
    `SELECT (SELECT max(version) FROM puente_schema) AS schema, pg_database_size(current_database()) AS file_bytes`,
  );
  return {
    ...eraseMethods(reader, writer, now, async () => undefined),
    ...retentionMethods(reader, writer),
    ...conditionMethods({
      engine: `PostgreSQL ${version}`,
      location,
      facts,
      newest_schema,
      // The server's disk is not visible here: when it is full, writes fail.
      room: unwatchedRoom,
      sizes: async () => ({ schema: 0, file_bytes: 0, ...(await sizes.get()), spare_bytes: 0 }),
    }),
    // Only the server writes: there is no writer thread.
    writerHeap: () => null,
    integrity: integrityOf(reader),
    ...noBackups(say('store.backup_elsewhere', {})),
  };
}

/** The server checks pages (`pg_amcheck`, checksums); a client can only see whether an index can't be used. */
function integrityOf(reader: Reader): Upkeep['integrity'] {
  const invalid = reader.prepare<[], { name: string }>(
    `SELECT CAST(indexrelid::regclass AS TEXT) AS name FROM pg_index
     WHERE NOT (indisvalid AND indisready) AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)`,
  );
  return async () => {
    try {
      const names = (await invalid.all()).map(({ name }) => name);
      return names.length === 0 ? 'ok' : `indexes that can't be used: ${names.join(', ')}`;
    } catch (error) {
      if (error instanceof PuenteError) return error.message;
      throw error;
    }
  };
}

async function factsOf(reader: Reader) {
  const rows = await reader.prepare<[], { name: string; value: string }>('SELECT name, value FROM meta').all();
  const server = reader.prepare<[], { version: string }>(`SELECT current_setting('server_version') AS version`);
  const { version = '' } = (await server.get()) ?? {};
  return { version, ...factsIn(new Map(rows.map(({ name, value }) => [name, value]))) };
}

// Deletes old exchanges: whole partitions at once, and the few rows outside them.

/** Partitions of the retention time. Each is kept until its newest row is old: its oldest row a sixteenth longer. */
const SPANS = 16;

/** Rows older than the partitions, and rows of a wrong clock. */
const LOOSE = `(SELECT sequence, at FROM exchanges_before UNION ALL SELECT sequence, at FROM exchanges_unplaced) AS loose`;

/**
 * Partitions are dropped whole, once their newest row is older than `exchanges_before` (epoch ms); the result counts
 * only rows that are deleted one by one.
 */
export function spanMethods(reader: Reader, writer: Writer, now: () => number): Pick<StoreMethods, 'tidyExchanges'> {
  const keep = reader.prepare<[number, number, number], { changed: number }>(
    'SELECT keep_exchange_spans(?, ?, ?) AS changed',
  );
  const tidyRows = tidierOf(reader, writer, { rows: LOOSE, messages: 'of all' });
  return {
    async tidyExchanges(exchanges_before, messages_before, limit) {
      const at = now();
      let failed: unknown = null;
      try {
        await keep.get(at, widthOf(at - exchanges_before), exchanges_before);
      } catch (error) {
        failed = error;
      }
      // A failed change of partitions does not stop the deletion of rows and messages.
      const deleted = await tidyRows(exchanges_before, messages_before, limit);
      if (failed !== null && deleted === 0) throw failed;
      return deleted;
    },
  };
}

/** In ms: whole days, at least one. */
function widthOf(kept_ms: number): number {
  return Math.max(1, Math.floor(kept_ms / SPANS / DAY_MS)) * DAY_MS;
}

// Examines the database server for `puente doctor`; changes nothing.

/** Never throws. @param url with the password, which no answer shows. @returns place and fault, or null for none. */
export async function examineServer(
  url: string,
  connect_timeout_ms: number,
): Promise<{ location: string; wrong: string | null }> {
  const location = locationOf(url);
  const client = clientFor(url, connect_timeout_ms, 'puente doctor');
  try {
    await client.connect();
    await refuseSettings(client, location);
    return { location, wrong: null };
  } catch (error) {
    const wrong =
      error instanceof PuenteError ? error.message : `The database ${location} can't be reached: ${textOf(error)}.`;
    return { location, wrong };
  } finally {
    await client.end().catch(() => undefined);
  }
}
