/** The minimum for two durable commits around a create: a row of three columns, inserted and updated. */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { applySettings } from '../../src/store/sqlite/settings.ts';
import type { Rows } from './translation.ts';

/** Inserted with its body; the update sets the order and removes the body. */
interface Row {
  id: string;
  body: string | null;
  order_id: string | null;
}

export async function openBareRows(database: string): Promise<Rows> {
  const writer = new Worker(new URL(import.meta.url), { workerData: database });
  await once(writer, 'online');
  /** While the writer commits one group, later rows collect for the next; no group waits to become larger. */
  let waiting: { rows: Row[]; resolved: (() => void)[] } = { rows: [], resolved: [] };
  let committing: (() => void)[] | null = null;
  let is_scheduled = false;

  const post = (): void => {
    const { rows, resolved } = waiting;
    waiting = { rows: [], resolved: [] };
    committing = resolved;
    writer.postMessage(rows);
  };
  writer.on('message', () => {
    const committed = committing ?? [];
    committing = null;
    if (waiting.rows.length > 0) post();
    for (const resolve of committed) resolve();
  });
  const durable = (row: Row): Promise<void> =>
    new Promise((resolve) => {
      waiting.rows.push(row);
      waiting.resolved.push(resolve);
      if (is_scheduled || committing !== null) return;
      is_scheduled = true;
      setImmediate(() => {
        is_scheduled = false;
        post();
      });
    });
  return {
    open: ({ id, body }) => durable({ id, body, order_id: null }),
    settle: (id, { id: order_id }) => durable({ id, body: null, order_id }),
  };
}

/** The writer thread: one durable commit per group, with the settings of Puente's own writer. */
function write(): void {
  const file = String(workerData);
  const database = new Database(file);
  applySettings(database, file);
  database.exec('CREATE TABLE links (id TEXT PRIMARY KEY, body TEXT, order_id TEXT) STRICT, WITHOUT ROWID');
  const insert = database.prepare('INSERT INTO links (id, body) VALUES (?, ?)');
  const update = database.prepare('UPDATE links SET order_id = ?, body = NULL WHERE id = ?');
  const commit = database.transaction((group: Row[]) => {
    for (const { id, body, order_id } of group) {
      if (order_id === null) insert.run(id, body);
      else update.run(order_id, id);
    }
  });

  parentPort?.on('message', (group: Row[]) => {
    commit(group);
    parentPort?.postMessage(null);
  });
}

if (!isMainThread) write();
