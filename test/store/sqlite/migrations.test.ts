/** Migrations: one transaction each, a copy before, no half-done step, and the same schema every time. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readMigrations } from '../../../src/store/migrations.ts';
import { MIGRATIONS_DIRECTORY, migrate, prepareFile } from '../../../src/store/sqlite/file.ts';
import { opened } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

describe('migrations', () => {
  let folder: Folder;
  let path: string;
  let directory: string;
  beforeEach(() => {
    folder = newFolder();
    path = folder.file('puente.db');
    directory = folder.file('migrations');
    mkdirSync(directory);
    for (const name of readdirSync(MIGRATIONS_DIRECTORY)) {
      copyFileSync(join(MIGRATIONS_DIRECTORY, name), join(directory, name));
    }
  });
  afterEach(() => folder.remove());

  const newest = readdirSync(MIGRATIONS_DIRECTORY).length;
  const prepare = () => prepareFile({ path, create: true, now: Date.now, migrations_directory: directory });
  const addMigration = (number: number, sql: string) =>
    writeFileSync(join(directory, `${String(number).padStart(3, '0')}_later.sql`), sql);
  const read = (file: string, sql: string) => {
    const database = new Database(file, { readonly: true });
    try {
      return database.prepare(sql).pluck().all();
    } finally {
      database.close();
    }
  };
  const schema = () => read(path, "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name");

  it('do nothing to a file at the newest schema, and copy nothing', async () => {
    await (await openStore(path)).close();
    const before = schema();
    const instance = read(path, "SELECT value FROM meta WHERE name = 'instance_id'");
    await (await openStore(path)).close();
    expect(schema()).toEqual(before);
    expect(read(path, "SELECT value FROM meta WHERE name = 'instance_id'")).toEqual(instance);
    expect(readdirSync(folder.file('.')).filter((name) => name.includes('.before-'))).toEqual([]);
  });

  it('bring an older file to the newest schema with its rows, and keep the copy of before [F55]', async () => {
    const store = await openStore(path);
    const link = await opened(store);
    await store.close();
    addMigration(newest + 1, 'ALTER TABLE links ADD COLUMN mood TEXT; CREATE TABLE moods (mood TEXT) STRICT;');
    addMigration(newest + 2, "UPDATE links SET mood = 'calm';");
    prepare();
    expect(read(path, 'SELECT mood FROM links')).toEqual(['calm']);
    expect(read(path, 'PRAGMA user_version')).toEqual([newest + 2]);
    const copy = `${path}.before-${newest + 2}`;
    expect(read(copy, 'PRAGMA user_version')).toEqual([newest]);
    expect(read(copy, 'SELECT legacy_id FROM links')).toEqual([link.legacy_id]);
    await expect(openStore(path)).rejects.toThrow(`it has schema ${newest + 2} and this build has up to ${newest}`);
    const restored = await openStore(copy, { create: false });
    expect(await restored.links.link(link.legacy_id)).toEqual(link);
    await restored.close();
  });

  it('leave the file as it was when one fails, and go on from there when it is repaired', async () => {
    await (await openStore(path)).close();
    const before = schema();
    addMigration(newest + 1, 'CREATE TABLE half (done TEXT) STRICT; INSERT INTO nowhere VALUES (1);');
    expect(prepare).toThrow(`migration ${String(newest + 1).padStart(3, '0')}_later.sql failed`);
    expect(schema()).toEqual(before);
    expect(read(path, 'PRAGMA user_version')).toEqual([newest]);
    addMigration(newest + 1, 'CREATE TABLE half (done TEXT) STRICT;');
    prepare();
    expect(read(path, 'PRAGMA user_version')).toEqual([newest + 1]);
  });

  it('keep the copy of before when one of several fails, and name it to the build of before [F55]', async () => {
    const store = await openStore(path);
    const link = await opened(store);
    await store.close();
    addMigration(newest + 1, 'CREATE TABLE moods (mood TEXT) STRICT;');
    addMigration(newest + 2, 'INSERT INTO nowhere VALUES (1);');
    const copy = `${path}.before-${newest + 2}`;
    expect(prepare).toThrow(new RegExp(`failed\\. .*${copy}.* has schema ${newest}`));
    expect(read(path, 'PRAGMA user_version')).toEqual([newest + 1]);
    await expect(openStore(path)).rejects.toThrow(`restore the copy ${copy}`);
    addMigration(newest + 2, 'CREATE TABLE half (done TEXT) STRICT;');
    prepare();
    expect(read(path, 'PRAGMA user_version')).toEqual([newest + 2]);
    const restored = await openStore(copy, { create: false });
    expect(await restored.links.link(link.legacy_id)).toEqual(link);
    await restored.close();
    // Put back, used on, and upgraded again: that is another file to go back to.
    copyFileSync(copy, path);
    const used = await openStore(path);
    const later = await opened(used, { slot: 'point:LATER', unit: 'LATER' });
    await used.close();
    prepare();
    expect(read(copy, 'PRAGMA user_version')).toEqual([newest]);
    expect(read(copy, 'SELECT legacy_id FROM links ORDER BY created_at, legacy_id')).toContain(later.legacy_id);
  });

  it('copy anew what was sold since an upgrade that was cut off, by a build of between [F55]', async () => {
    await (await openStore(path)).close();
    addMigration(newest + 1, 'CREATE TABLE moods (mood TEXT) STRICT;');
    addMigration(newest + 2, 'INSERT INTO nowhere VALUES (1);');
    expect(prepare).toThrow('failed');
    const used = new Database(path);
    used.exec("UPDATE meta SET value = '7' WHERE name = 'opened_at'; INSERT INTO moods VALUES ('sold since');");
    used.close();
    addMigration(newest + 2, 'CREATE TABLE half (done TEXT) STRICT;');
    prepare();
    const copy = `${path}.before-${newest + 2}`;
    expect(read(copy, 'PRAGMA user_version')).toEqual([newest + 1]);
    expect(read(copy, 'SELECT mood FROM moods')).toEqual(['sold since']);
  });

  it('leave the text of tables guarded also when another process keeps them from beginning', async () => {
    await (await openStore(path)).close();
    addMigration(newest + 1, 'CREATE TABLE later (done TEXT) STRICT;');
    const other = new Database(path);
    const database = new Database(path, { timeout: 0 });
    try {
      other.exec('BEGIN IMMEDIATE');
      expect(() => migrate(database, path, readMigrations(directory))).toThrow('database is locked');
      other.exec('ROLLBACK');
      database.pragma('writable_schema = ON');
      expect(() => database.exec("UPDATE sqlite_schema SET sql = ''")).toThrow('may not be modified');
    } finally {
      other.close();
      database.close();
    }
  });

  it('leave no file when the first one fails', () => {
    writeFileSync(join(directory, '001_first.sql'), 'CREATE TABLE half (done TEXT); INSERT INTO nowhere VALUES (1);');
    expect(prepare).toThrow('migration 001_first.sql failed');
    expect(existsSync(path)).toBe(false);
  });

  it('are refused when one is missing or misnamed', () => {
    addMigration(newest + 2, 'SELECT 1;');
    expect(prepare).toThrow(`is not migration ${newest + 1}`);
  });
});
