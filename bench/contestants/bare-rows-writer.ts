/** The writer thread of the bare rows: one group, one durable commit, on the settings that Puente's own writer has. */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { applySettings } from '../../src/store/sqlite/settings.ts';

/** Inserted with its body; its order is noted, and the body taken out, once it is known. */
export interface Row {
  id: string;
  body: string | null;
  order_id: string | null;
}
export type Group = Row[];

const file = String(workerData);
const database = new Database(file);
applySettings(database, file);
database.exec('CREATE TABLE links (id TEXT PRIMARY KEY, body TEXT, order_id TEXT) STRICT, WITHOUT ROWID');
const insert = database.prepare('INSERT INTO links (id, body) VALUES (?, ?)');
const update = database.prepare('UPDATE links SET order_id = ?, body = NULL WHERE id = ?');
const commit = database.transaction((group: Group) => {
  for (const { id, body, order_id } of group) {
    if (order_id === null) insert.run(id, body);
    else update.run(order_id, id);
  }
});

parentPort?.on('message', (group: Group) => {
  commit(group);
  parentPort?.postMessage(null);
});
