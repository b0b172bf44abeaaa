/** Upkeep of a file: its condition, room on the disk, backups, retention and erasure. */

import { statSync } from 'node:fs';
import { say } from '../../locales/message.ts';
import type { Room } from '../../proxy/records/upkeep.ts';
import { conditionMethods, factsIn, noBackups, type Upkeep, unwatchedRoom } from '../engine.ts';
import { eraseMethods } from '../erase.ts';
import { retentionMethods } from '../retention.ts';
import { type BackupParts, backupMethods, sweepBackups } from './backup.ts';
import { watchDisk } from './disk.ts';
import { checkInThread } from './examine.ts';
import type { WriteQueue } from './group-commit.ts';
import type { Reader } from './reader.ts';

interface UpkeepOptions extends Omit<BackupParts, 'instance_id' | 'contentBytes' | 'emptyLog'> {
  newest_schema: number;
  onRoom?: ((room: Room) => void) | undefined;
}

export interface Upkept extends Upkeep {
  /** Waits for running writes; then the files may be closed. */
  stop(): Promise<void>;
}

/** Removes leftovers of a killed backup, and starts watching the disk. */
export async function openUpkeep(reader: Reader, queue: WriteQueue, options: UpkeepOptions): Promise<Upkept> {
  const { path, now, directory } = options;
  const facts = factsOf(reader);
  const emptyLog = async (): Promise<void> => {
    await queue.commit({ steps: [], checkpoint: true }).catch(() => undefined);
  };
  await sweepBackups(directory, facts.instance_id);
  const disk = await watchDisk(path, options.disk, emptyLog, options.onRoom);
  const pages = pagesOf(reader);
  const { instance_id } = facts;
  const contentBytes = () => pages().content_bytes;
  const { settled, ...backups } = backupMethods({ ...options, instance_id, contentBytes, emptyLog });
  const erasing = eraseMethods(reader, queue, now, emptyLog);
  return {
    ...backups,
    ...erasing,
    async eraseMerchant(merchant_id, audit) {
      // A backup under way would contain the merchant without being listed, and keep the log from being emptied.
      await settled();
      return erasing.eraseMerchant(merchant_id, audit);
    },
    ...retentionMethods(reader, queue),
    ...conditionOf(reader, path, options.newest_schema, disk.room),
    writerHeap: () => queue.writerHeap(),
    integrity: () => checkInThread(path),
    async stop() {
      await settled();
      await disk.stop();
    },
  };
}

/** For a store without a file, as in a simulation. */
export function upkeepInMemory(reader: Reader, queue: WriteQueue, now: () => number): Upkept {
  return {
    ...eraseMethods(reader, queue, now, async () => undefined),
    ...retentionMethods(reader, queue),
    ...conditionOf(reader, ':memory:', schemaOf(reader), unwatchedRoom),
    writerHeap: () => queue.writerHeap(),
    integrity: async () => 'ok',
    ...noBackups(say('store.backup_of_memory', {})),
    stop: async () => undefined,
  };
}

function conditionOf(reader: Reader, path: string, newest_schema: number, room: () => Room) {
  const { version, ...facts } = factsOf(reader);
  const pages = pagesOf(reader);
  const sizes = async () => {
    const { content_bytes, spare_bytes } = pages();
    const file_bytes = statSync(path, { throwIfNoEntry: false })?.size ?? content_bytes + spare_bytes;
    return { schema: schemaOf(reader), file_bytes, spare_bytes };
  };
  return conditionMethods({ engine: `SQLite ${version}`, location: path, facts, newest_schema, room, sizes });
}

function pagesOf(reader: Reader): () => { content_bytes: number; spare_bytes: number } {
  const pages = reader.prepare<[], { size: number; count: number; spare: number }>(
    `SELECT page_size AS size, page_count AS count, freelist_count AS spare
       FROM pragma_page_size, pragma_page_count, pragma_freelist_count`,
  );
  return () => {
    const { size, count, spare } = pages.get() ?? { size: 0, count: 0, spare: 0 };
    return { content_bytes: size * (count - spare), spare_bytes: size * spare };
  };
}

function schemaOf(reader: Reader): number {
  const row = reader.prepare<[], { user_version: number }>('SELECT user_version FROM pragma_user_version').get();
  return row?.user_version ?? 0;
}

function factsOf(reader: Reader) {
  const rows = reader.prepare<[], { name: string; value: string }>('SELECT name, value FROM meta').all();
  const { version = '' } = reader.prepare<[], { version: string }>('SELECT sqlite_version() AS version').get() ?? {};
  return { version, ...factsIn(new Map(rows.map(({ name, value }) => [name, value]))) };
}
