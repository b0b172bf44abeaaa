/** Files that must not be opened: each error names the cause, and the file is unchanged; by rights: `storage-directories`. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditOf, newLink, newMerchant } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

describe('openSqliteStore refuses', () => {
  let folder: Folder;
  let path: string;
  beforeEach(() => {
    folder = newFolder();
    path = folder.file('puente.db');
  });
  afterEach(() => folder.remove());

  const refusal = async (text: string, create = true) => {
    const opening = openStore(path, { create });
    await expect(opening).rejects.toMatchObject({ code: 'store_unusable', message: expect.stringContaining(text) });
  };
  const makeStore = async () => (await openStore(path)).close();

  it('a missing file unless it may create one', async () => {
    await refusal('it does not exist', false);
    expect(existsSync(path)).toBe(false);
  });

  it('a missing folder [F38]', async () => {
    path = folder.file('nowhere/puente.db');
    await refusal('is missing or can not be written');
  });

  it('an empty file, whether it may create one or not [F41]', async () => {
    writeFileSync(path, '');
    await refusal('it is empty', false);
    await refusal('it is empty', true);
    expect(statSync(path).size).toBe(0);
  });

  it('a file that is no database [F41]', async () => {
    writeFileSync(path, 'Querido diario: '.repeat(1_000));
    await refusal('it is not an SQLite database');
    expect(readFileSync(path, 'utf8')).toBe('Querido diario: '.repeat(1_000));
  });

  it('the database of another program [F41]', async () => {
    const foreign = new Database(path);
    foreign.exec('CREATE TABLE recipes (name TEXT)');
    foreign.close();
    const before = readFileSync(path);
    await refusal('it is the database of another program');
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('a folder in place of the file [F42]', async () => {
    mkdirSync(path);
    await refusal('it is not a file');
  });

  it('a newer schema [F56]', async () => {
    await makeStore();
    const database = new Database(path);
    database.pragma('user_version = 99');
    database.close();
    await refusal('it has schema 99 and this build has up to');
  });

  it('a write-ahead log whose database is gone [F40]', async () => {
    writeFileSync(`${path}-wal`, 'the last commits');
    await refusal('its write-ahead log is still there');
    expect(readFileSync(`${path}-wal`, 'utf8')).toBe('the last commits');
  });

  it('a damaged file [F39]', async () => {
    const store = await openStore(path);
    const merchants = Array.from({ length: 300 }, (_, index) => newMerchant({ id: String(index + 1) }));
    await Promise.all(merchants.map((merchant) => store.merchants.saveMerchant(merchant, 0, auditOf('made'))));
    await store.close();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 3 * 4096, bytes.length - 4096);
    writeFileSync(path, bytes);
    await refusal('it is damaged');
  });

  it('a file of ours that has lost its instance id [F41]', async () => {
    await makeStore();
    const database = new Database(path);
    database.exec("DELETE FROM meta WHERE name = 'instance_id'");
    database.close();
    await refusal('it has lost its instance id');
  });

  it('nothing that a killed creation left behind', async () => {
    writeFileSync(`${path}.unfinished`, 'half a database');
    const store = await openStore(path);
    expect(store.healthy()).toBe(true);
    await store.close();
    expect(existsSync(`${path}.unfinished`)).toBe(false);
  });

  it('a second name of a file that is open', async () => {
    const store = await openStore(path);
    const other = folder.file('other.db');
    symlinkSync(path, other);
    await expect(openStore(other)).rejects.toMatchObject({ message: expect.stringContaining('another Puente') });
    await store.close();
  });

  it('a second store in the same process until the first is closed, and leaves the first alone', async () => {
    const first = await openStore(path);
    // The doctor recognises a file in use by this fact, not by the message.
    await expect(openStore(path)).rejects.toMatchObject({ code: 'store_unusable', facts: { in_use: true } });
    const link = newLink();
    await first.links.openLink(link, () => ({ kind: 'open' }));
    expect(await first.links.link(link.legacy_id)).toEqual(link);
    await first.close();
    const second = await openStore(path, { create: false });
    expect(await second.links.link(link.legacy_id)).toEqual(link);
    await second.close();
  });
});
