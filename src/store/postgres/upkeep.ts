/** What keeps a database in order that its server looks after: its condition, and what Puente leaves to those who run it. */

import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { RestoredGap, Room, UpkeepStore } from '../../proxy/records/upkeep.ts';
import type { Writer } from '../engine.ts';
import { eraseMethods } from '../erase.ts';
import { retentionMethods } from '../retention.ts';
import type { PostgresReader } from './reader.ts';

export interface UpkeepOptions {
  /** Shown to people. */
  location: string;
  newest_schema: number;
  now: () => number;
}

/** The disk is the server's: when it is full, writes say so. */
const ROOM: Room = { level: 'enough', free_bytes: null, log_bytes: 0, is_log_large: false };

/** @throws PuenteError store_failed */
export async function openUpkeep(reader: PostgresReader, writer: Writer, options: UpkeepOptions): Promise<UpkeepStore> {
  const facts = await factsOf(reader);
  return {
    ...eraseMethods(reader, writer, options.now, async () => undefined),
    ...retentionMethods(reader, writer),
    ...conditionMethods(reader, options, facts),
    // biome-ignore lint/correctness/useYield: there is nothing to tell before it is refused
    async *backup() {
      throw new PuenteError('refused', say('store.backup_elsewhere', {}));
    },
    backups: async () => [],
    trimBackups: async () => [],
  };
}

type Condition = Pick<UpkeepStore, 'room' | 'writerHeap' | 'condition' | 'restoredGap' | 'integrity'>;
type Facts = Awaited<ReturnType<typeof factsOf>>;

function conditionMethods(reader: PostgresReader, options: UpkeepOptions, facts: Facts): Condition {
  const sizes = reader.prepare<[], { schema: number; bytes: number }>(
    `SELECT (SELECT max(version) FROM puente_schema) AS schema, pg_database_size(current_database()) AS bytes`,
  );
  return {
    room: () => ROOM,
    // Everything is written by the server.
    writerHeap: () => null,
    restoredGap: () => facts.gap,
    integrity: integrityOf(reader),
    async condition() {
      const { schema, bytes } = (await sizes.get()) ?? { schema: 0, bytes: 0 };
      return {
        engine: `PostgreSQL ${facts.version}`,
        location: options.location,
        instance_id: facts.instance_id,
        schema,
        newest_schema: options.newest_schema,
        file_bytes: bytes,
        spare_bytes: 0,
        room: ROOM,
        gap: facts.gap,
        created_at: facts.created_at,
      };
    },
  };
}

/** The pages are the server's to check (`pg_amcheck`, checksums); what can be asked from here is whether an index can't be used. */
function integrityOf(reader: PostgresReader): UpkeepStore['integrity'] {
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

/** What does not change while the store is open. */
async function factsOf(reader: PostgresReader) {
  const rows = await reader.prepare<[], { name: string; value: string }>('SELECT name, value FROM meta').all();
  const meta = new Map(rows.map(({ name, value }) => [name, value]));
  const version = await reader
    .prepare<[], { version: string }>(`SELECT current_setting('server_version') AS version`)
    .get();
  // Of a file that was restored before its rows were carried here.
  const from = Number(meta.get('restored_from') ?? Number.NaN);
  const until = Number(meta.get('restored_at') ?? Number.NaN);
  const gap: RestoredGap | null = Number.isNaN(from) || Number.isNaN(until) ? null : { from, until };
  return {
    instance_id: meta.get('instance_id') ?? '',
    created_at: Number(meta.get('created_at') ?? 0),
    version: version?.version ?? '',
    gap,
  };
}
