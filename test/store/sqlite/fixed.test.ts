/** Refusals of the database itself: new values in columns that are written once. */
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { opened } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

const fixed = [
  'legacy_id',
  'merchant_id',
  'lane',
  'family',
  'unit',
  'slot',
  'client_key',
  'fingerprint',
  'reference_sent',
  'client_reference',
  'held',
  'amount_minor',
  'merchant_order_id',
  'sealed_notice_url',
  'idempotency_key',
  'tables_revision',
  'boot_id',
  'created_at',
];

const another: Readonly<Record<string, string>> = { TEXT: "'qr'", INTEGER: '7', BLOB: "x'07'" };

describe('columns of a link that are written once', () => {
  let folder: Folder;
  let database: Database.Database;
  beforeAll(async () => {
    folder = newFolder();
    const store = await openStore(folder.file('puente.db'));
    await opened(store);
    await store.close();
    database = new Database(folder.file('puente.db'));
  });
  afterAll(() => {
    database?.close();
    folder?.remove();
  });

  it.each(fixed)('%s', (column) => {
    const before = database.prepare('SELECT * FROM links').all();
    const type = database.prepare("SELECT type FROM pragma_table_info('links') WHERE name = ?").pluck().get(column);
    const change = () => database.prepare(`UPDATE links SET ${column} = ${another[String(type)]}`).run();
    expect(change).toThrow('a fixed column of a link can not be changed');
    expect(database.prepare('SELECT * FROM links').all()).toEqual(before);
  });

  it('are named here with all the others that may change', () => {
    const columns = database.prepare("SELECT name FROM pragma_table_info('links')").pluck().all();
    const changing = columns.filter((column) => !fixed.includes(String(column)));
    expect(changing).toEqual([
      'sealed_body',
      'state',
      'attempts',
      'first_sent_at',
      'client_answer',
      'order_id',
      'order_json',
      'order_version',
      'payment_id',
      'legacy_state',
      'legacy_state_at',
      'cancel',
      'expires_at',
      'next_check_at',
      'updated_at',
      'revision',
      'acknowledged_at',
      'known_by',
    ]);
  });
});
