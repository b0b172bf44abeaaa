/** Database files damaged, deleted, replaced or locked while Puente was stopped (F38–F42). */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { examineFile } from '../../src/store/sqlite/examine.ts';
import { MIGRATIONS_DIRECTORY, prepareFile } from '../../src/store/sqlite/file.ts';
import { verifyAudit } from '../ops/audit-chain.ts';
import { puente } from '../run-cli.ts';
import { opened } from '../store/contract/harness.ts';
import { type Folder, newFolder, openStore } from '../store/sqlite/kit.ts';

let folder: Folder;
let path: string;
beforeEach(() => {
  folder = newFolder();
  path = folder.file('puente.db');
});
afterEach(() => folder.remove());

/** Files as a kill leaves them: the database at its last checkpoint, and the log with later commits. */
async function killedAt(options: { key_mark?: string } = {}): Promise<{ kept: string; lost: string }> {
  const store = await openStore(path, options);
  const kept = await opened(store, { slot: 'point:FIRST', unit: 'FIRST' });
  await store.close();
  const again = await openStore(path);
  const lost = await opened(again, { slot: 'point:SECOND', unit: 'SECOND' });
  const image = folder.file('image.db');
  for (const suffix of ['', '-wal', '-shm']) copyFileSync(path + suffix, image + suffix);
  await again.close();
  path = image;
  return { kept: kept.legacy_id, lost: lost.legacy_id };
}

async function audits(store: Awaited<ReturnType<typeof openStore>>): Promise<string[]> {
  const lines = await store.audit.auditsAfter(0, 100);
  expect(verifyAudit(lines)).toMatchObject({ intact: true });
  return lines.map(({ action }) => action);
}

describe('the write-ahead log of a killed process', () => {
  it('is read back whole, also when the shared-memory file is gone or garbage [F40]', async () => {
    const { kept, lost } = await killedAt();
    writeFileSync(`${path}-shm`, Buffer.alloc(32_768, 0xa5));
    expect(examineFile(path)).toMatchObject({ is_log_lost: false, integrity: 'ok', wrong: null });
    const store = await openStore(path, { create: false });
    expect([await store.links.link(kept), await store.links.link(lost)]).toMatchObject([
      { unit: 'FIRST' },
      { unit: 'SECOND' },
    ]);
    expect(store.upkeep.restoredGap()).toBeNull();
    expect(await audits(store)).toEqual([]);
    await store.close();
  });

  const anotherKey = () => openStore(path, { create: false, key_mark: 'another' });
  const anOlderBuild = async () => {
    const migrations_directory = folder.file('older');
    mkdirSync(migrations_directory);
    for (const name of readdirSync(MIGRATIONS_DIRECTORY).toSorted().slice(0, -1))
      copyFileSync(join(MIGRATIONS_DIRECTORY, name), join(migrations_directory, name));
    prepareFile({ path, create: false, now: Date.now, migrations_directory });
  };
  it.each([
    ['for another key', anotherKey, 'is not the key'],
    ['as that of an older build', anOlderBuild, 'this build has up to'],
  ])('is not taken for lost when the next start is refused, %s [F40]', async (_why, start, text) => {
    const { kept, lost } = await killedAt({ key_mark: 'one key' });
    await expect(start()).rejects.toThrow(text);
    const store = await openStore(path, { create: false, key_mark: 'one key' });
    for (const id of [kept, lost]) expect(await store.links.link(id)).not.toBeNull();
    expect([store.upkeep.restoredGap(), await audits(store)]).toEqual([null, []]);
    await store.close();
  });

  it.each([
    ['deleted', () => rmSync(`${path}-wal`)],
    ['garbage', () => writeFileSync(`${path}-wal`, Buffer.alloc(100_000, 0xa5))],
  ])('that was %s leaves the last checkpoint, and the loss is in the audit log [F40]', async (_how, spoil) => {
    const { kept, lost } = await killedAt();
    rmSync(`${path}-shm`);
    spoil();
    const files = () => readdirSync(dirname(path)).filter((name) => name !== 'image.db.lock');
    const before = files();
    expect(examineFile(path)).toMatchObject({ is_log_lost: true, integrity: 'ok', wrong: null });
    expect(files(), 'the look hides nothing from the start').toEqual(before);
    const store = await openStore(path, { create: false });
    expect(await store.links.link(kept)).toMatchObject({ unit: 'FIRST' });
    expect(await store.links.link(lost)).toBeNull();
    expect(store.upkeep.restoredGap()).toMatchObject({ from: expect.any(Number), until: expect.any(Number) });
    expect(await audits(store)).toEqual(['log lost']);
    await store.close();
    // Reported once: the next start adds no report.
    const next = await openStore(path, { create: false });
    expect(await audits(next)).toEqual(['log lost']);
    await next.close();
  });
});

describe('a file that can not be used', () => {
  it.each([
    ['the lock is a directory', () => mkdirSync(`${path}.lock`), /\.lock can't be used/],
    ['the log is a directory', () => mkdirSync(`${path}-wal`), /can't be used/],
  ])(
    '%s: the start is refused with a sentence, and works again when that is mended [F38]',
    async (_what, spoil, text) => {
      await (await openStore(path)).close();
      for (const suffix of ['.lock', '-wal']) rmSync(path + suffix, { force: true });
      spoil();
      await expect(openStore(path)).rejects.toMatchObject({
        code: 'store_unusable',
        message: expect.stringMatching(text),
      });
      for (const suffix of ['.lock', '-wal']) rmSync(path + suffix, { force: true, recursive: true });
      await (await openStore(path)).close();
    },
  );

  it('that is damaged ends the process with code 1 and the runbook, and is never replaced by a new one [F39]', async () => {
    await (await openStore(path)).close();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096, bytes.length - 4096);
    writeFileSync(path, bytes);
    const settings = {
      PUENTE_DATA_DIR: folder.file('.'),
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_SANDBOX_PORT: '0',
    };
    const { code, err } = await puente(['serve'], { env: settings });
    expect([code, err]).toEqual([1, expect.stringMatching(/The database .* it is damaged.* Restore a backup/s)]);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(existsSync(`${path}.unfinished`)).toBe(false);
  });
});
