/** The settings hold after the first write, where a new file would switch to NORMAL (`docs/protocol.md` §3.14). */
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applySettings, assertSettings } from '../../../src/store/sqlite/settings.ts';
import { type Folder, newFolder } from './kit.ts';

describe('the SQLite settings', () => {
  let folder: Folder;
  let database: Database.Database;
  beforeEach(() => {
    folder = newFolder();
    database = new Database(folder.file('settings.db'));
  });
  afterEach(() => {
    database.close();
    folder.remove();
  });
  const write = () => database.exec('CREATE TABLE sales (amount INTEGER) STRICT; INSERT INTO sales VALUES (1)');
  const synchronous = () => database.pragma('synchronous', { simple: true });

  it('are FULL before and after the first write, and on a reopened file', () => {
    applySettings(database, 'settings.db');
    expect(synchronous()).toBe(2);
    write();
    expect(synchronous()).toBe(2);
    assertSettings(database, 'settings.db');
    database.close();
    database = new Database(folder.file('settings.db'));
    applySettings(database, 'settings.db');
    expect(synchronous()).toBe(2);
  });

  it('are found out when the driver lets FULL fall at the first write', () => {
    database.pragma('journal_mode = WAL');
    write();
    expect(synchronous()).toBe(1);
    for (const setting of ['trusted_schema = OFF', 'cell_size_check = ON', 'secure_delete = ON'])
      database.pragma(setting);
    const assertion = () => assertSettings(database, 'settings.db');
    expect(assertion).toThrow('its setting synchronous is 1 where 2 is needed');
  });

  it('are found out when the file can not have a write-ahead log', () => {
    const memory = new Database(':memory:');
    expect(() => applySettings(memory, 'memory')).toThrow('its setting journal_mode is memory where wal is needed');
    memory.close();
  });
});
