/** Backups during sales, killed backups, and the drill: restore an old one and compare (`docs/protocol.md` §3.4). */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { offlineFindings } from '../../src/ops/doctor/doctor.ts';
import type { BackupProgress } from '../../src/ops/upkeep/chores.ts';
import type { BackupManifest } from '../../src/proxy/records/upkeep.ts';
import { digestOf } from '../../src/store/sqlite/backup-thread.ts';
import { examineFile } from '../../src/store/sqlite/examine.ts';
import { restoreBackup } from '../../src/store/sqlite/restore.ts';
import { killChildren, startChild } from '../crash/child.ts';
import { ANA, type Bench, BRAZIL, eventually, PEOPLE } from '../kit.ts';
import { closing } from '../open.ts';
import { idOf, openShop, type Shop } from '../proxy/http/till.ts';
import { puente } from '../run-cli.ts';

let folder: string;
let shop: Shop;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'puente-backup-'));
  shop = await openShop({ PUENTE_DATA_DIR: folder, ...PEOPLE });
});
afterAll(async () => {
  await shop.close();
  await killChildren();
  await rm(folder, { recursive: true, force: true });
});

const backups = (): string => join(folder, 'backups');

async function backUp(bench: Bench): Promise<BackupManifest> {
  const answer = await bench.ops('/api/backup', { method: 'POST', body: { reason: 'a test' } });
  expect(answer.status).toBe(200);
  const news = answer.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as BackupProgress); // the API's shape
  const last = news.at(-1);
  if (last?.news !== 'done') throw new Error(`no backup: ${answer.text}`);
  return last.backup;
}

function linksIn(path: string): string[] {
  using database = closing(new Database(path, { readonly: true }));
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
  return database.prepare<[], string>('SELECT legacy_id FROM links').pluck().all();
}

describe('a backup', () => {
  it('made during sales has every earlier sale, is intact, and matches its manifest [F61]', async () => {
    const before = await Promise.all([1, 2, 3].map(() => shop.create(shop.freshDevice())));
    let is_over = false;
    const selling = (async () => {
      // At most the sandbox's number of terminals.
      for (let sales = 0; !is_over && sales < 100; sales++)
        expect((await shop.create(shop.freshDevice())).status).toBe(201);
    })();
    const made = await backUp(shop);
    is_over = true;
    await selling;
    const file = join(backups(), made.file);
    expect(linksIn(file)).toEqual(expect.arrayContaining(before.map(idOf)));
    expect(made).toMatchObject({ bytes: statSync(file).size, sha256: digestOf(file), schema: expect.any(Number) });
    expect(made.heads.links).toBe(linksIn(file).length);
    for (const name of readdirSync(backups())) expect(statSync(join(backups(), name)).mode & 0o077, name).toBe(0);
    expect(readdirSync(backups()).filter((name) => name.includes('unfinished'))).toEqual([]);
    const { backups: listed } = (await shop.ops('/api/backup')).body as { backups: BackupManifest[] }; // the API's shape
    expect(listed[0]).toEqual(made);
    const audit = (await shop.ops('/api/audit?action=backup')).body as { lines: { detail: unknown }[] }; // the API's shape
    expect(audit.lines[0]?.detail).toEqual({ file: made.file, bytes: made.bytes, sha256: made.sha256 });
  });

  it('is made one at a time, and asked for by operators alone', async () => {
    const [first, second] = await Promise.all([
      shop.ops('/api/backup', { method: 'POST', body: {} }),
      shop.ops('/api/backup', { method: 'POST', body: {} }),
    ]);
    expect([first.status, second.status].toSorted()).toEqual([200, 409]);
    const viewer = await shop.ops('/api/backup', { method: 'POST', body: {}, token: ANA.token });
    expect(viewer.status).toBe(403);
  });

  it('is waited for by an erase, so that the erase names it among those that hold the merchant still', async () => {
    const erase = (body: object) =>
      shop.ops(`/api/merchants/${BRAZIL}/erase`, { method: 'POST', body: { reason: 'left us', ...body } });
    expect((await shop.till('/point/integration-api/devices', { merchant: BRAZIL })).status).toBe(200);
    await eventually(
      () => erase({}),
      ({ status }) => status === 200,
    );
    const making = backUp(shop);
    // Waits until the copy has begun.
    await eventually(
      async () => readdirSync(backups()).filter((name) => name.endsWith('.unfinished')),
      (names) => names.length > 0,
    );
    const erased = await erase({ apply: true });
    expect(erased.body).toMatchObject({ erased: true, backups: expect.arrayContaining([(await making).file]) });
  });

  it('that can not be written is reported with the repair, and leaves nothing behind [F38]', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'puente-backup-none-'));
    const in_its_place = join(elsewhere, 'a file');
    writeFileSync(in_its_place, 'no directory');
    const bench = await openShop({ PUENTE_DATA_DIR: elsewhere, PUENTE_BACKUP_DIRECTORY: in_its_place });
    try {
      const answer = await bench.ops('/api/backup', { method: 'POST', body: {} });
      expect(answer.body).toMatchObject({
        error: 'store_failed',
        message: expect.stringContaining('No backup was made'),
      });
      expect(readFileSync(in_its_place, 'utf8')).toBe('no directory');
      expect((await bench.create(bench.freshDevice())).status).toBe(201);
    } finally {
      await bench.close();
      await rm(elsewhere, { recursive: true, force: true });
    }
  });

  it('that fails half way is removed at once, and the next one is whole', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'puente-backup-half-'));
    let fails = 'backup.begun';
    const bench = await openShop(
      { PUENTE_DATA_DIR: elsewhere },
      {
        failpoint: (name) => {
          if (name === fails) throw new Error('the disk is gone');
        },
      },
    );
    try {
      const answer = await bench.ops('/api/backup', { method: 'POST', body: {} });
      expect(answer.body).toMatchObject({ error: 'store_failed' });
      expect(readdirSync(join(elsewhere, 'backups'))).toEqual([]);
      fails = 'none';
      expect(linksIn(join(elsewhere, 'backups', (await backUp(bench)).file))).toEqual([]);
    } finally {
      await bench.close();
      await rm(elsewhere, { recursive: true, force: true });
    }
  });
});

describe('the schedule', () => {
  const home = mkdtemp(join(tmpdir(), 'puente-backup-killed-'));
  afterEach(async () => killChildren());
  afterAll(async () => rm(await home, { recursive: true, force: true }));

  it('makes backups by itself; the next start deletes an interrupted one, and no other [F61]', async () => {
    const data_dir = await home;
    const kept = join(data_dir, 'backups');
    const settings = {
      PUENTE_DATA_DIR: data_dir,
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_SANDBOX_PORT: '0',
      PUENTE_BACKUP_EVERY_MS: '1000',
      PUENTE_BACKUP_KEEP: '1',
    };
    // Killed in the second backup: the first is complete and must remain.
    const child = await startChild({ ...settings, NODE_ENV: 'test', CRASH_TEST_FAILPOINT: 'backup.copied:2' });
    await child?.gone;
    const left = readdirSync(kept);
    expect(left.filter((name) => name.endsWith('.unfinished'))).toHaveLength(1);
    const isDatabase = (name: string) => name.endsWith('.db');
    const whole = left.filter(isDatabase);
    expect(whole).toHaveLength(1);
    writeFileSync(join(kept, 'of somebody else.unfinished'), 'not ours');
    await using _bench = closing(
      await openShop({
        PUENTE_DATA_DIR: data_dir,
        PUENTE_BACKUP_EVERY_MS: '1000',
        PUENTE_BACKUP_KEEP: '1',
      }),
    );
    const before = [...left, ...whole.map((name) => `${name}.json`)];
    const later = await eventually(
      async () => readdirSync(kept),
      // A database is deleted before its manifest.
      (names) => names.filter(isDatabase).length === 1 && !before.some((name) => names.includes(name)),
    );
    expect(later).toContain('of somebody else.unfinished');
    expect(later.find(isDatabase)).toMatch(/^puente-[0-9a-f]{8}-\d{8}T\d{9}Z\.db$/);
  });
});

/** A database whose last commit is only in its log, as a killed process leaves it. */
async function leftByAKill(file: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'puente-left-'));
  const working = join(home, 'working');
  copyFileSync(file, working);
  const database = new Database(working);
  database.pragma('journal_mode = WAL');
  database.prepare("INSERT INTO meta (name, value) VALUES ('last sale', 'told to a till')").run();
  for (const suffix of ['', '-wal']) copyFileSync(working + suffix, join(home, `puente.db${suffix}`));
  database.close();
  await rm(working);
  return home;
}

function lastSaleIn(path: string): unknown {
  using database = closing(new Database(path, { fileMustExist: true }));
  return database.prepare("SELECT value FROM meta WHERE name = 'last sale'").pluck().get();
}

describe('a restore', () => {
  let made: BackupManifest;
  let into: string;
  beforeAll(async () => {
    made = await backUp(shop);
    into = await mkdtemp(join(tmpdir(), 'puente-restored-'));
  });
  afterAll(() => rm(into, { recursive: true, force: true }));
  const order = (change: object = {}) => ({
    file: join(backups(), made.file),
    into,
    replace: false,
    reason: 'a drill',
    now: Date.now(),
    ...change,
  });

  it('is refused into a directory that a Puente is using, and changes nothing there', async () => {
    const refused = restoreBackup(order({ into: folder, replace: true }));
    await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('another Puente is using it') });
    const linked = await mkdtemp(join(tmpdir(), 'puente-linked-'));
    symlinkSync(join(folder, 'puente.db'), join(linked, 'puente.db'));
    const through = restoreBackup(order({ into: linked, replace: true }));
    await expect(through).rejects.toMatchObject({ message: expect.stringContaining('another Puente is using it') });
    await rm(linked, { recursive: true });
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
  });

  it('is refused for a file that changed since it was made, a damaged one, a foreign one and a newer one', async () => {
    const bad = join(into, made.file);
    const bytes = readFileSync(order().file);
    const refusal = (text: string) =>
      expect(restoreBackup(order({ file: bad }))).rejects.toMatchObject({ message: expect.stringContaining(text) });
    const changed = Buffer.from(bytes);
    changed.fill(0xa5, 3 * 4096, changed.length - 4096);
    writeFileSync(bad, changed);
    writeFileSync(`${bad}.json`, readFileSync(`${order().file}.json`));
    await refusal('its bytes have changed');
    await rm(`${bad}.json`);
    await refusal('damaged');
    writeFileSync(bad, 'Querido diario: '.repeat(1_000));
    await refusal('it is not an SQLite database');
    writeFileSync(bad, bytes);
    const newer = new Database(bad);
    newer.pragma('user_version = 99');
    newer.close();
    await refusal('it has schema 99');
    await expect(restoreBackup(order({ file: join(into, 'nothing') }))).rejects.toMatchObject({
      message: expect.stringContaining('it does not exist'),
    });
    expect(existsSync(join(into, 'puente.db'))).toBe(false);
    await rm(bad);
  });

  it('puts the file in place for this user alone, and moves what is there aside only when it is asked to', async () => {
    chmodSync(order().file, 0o644);
    const { file } = order();
    const ran = await puente(['restore', file, '--into', into, '--reason', 'a drill', '--json']);
    expect(ran.err).toBe('');
    const done = JSON.parse(ran.out);
    expect(done).toMatchObject({
      moved_to: null,
      is_proved: true,
      links: made.heads.links,
      from: Date.parse(made.made_at),
    });
    expect(statSync(done.path).mode & 0o077).toBe(0);
    await expect(restoreBackup(order())).rejects.toMatchObject({ code: 'conflict' });
    const again = await restoreBackup(order({ replace: true }));
    expect(existsSync(again.moved_to ?? '')).toBe(true);
    expect(linksIn(done.path)).toHaveLength(made.heads.links);
  });

  it.each(['restore.proved', 'restore.aside'])(
    'that ends at %s leaves the database of before in its place, and nothing half',
    async (point) => {
      const path = join(into, 'puente.db');
      const before = readFileSync(path);
      const ended = restoreBackup(order({ replace: true, now: Date.now() }), (name) => {
        if (name === point) throw new Error('ended here');
      });
      await expect(ended).rejects.toMatchObject({ message: expect.stringContaining('ended here') });
      expect(readFileSync(path).equals(before)).toBe(true);
      expect(readdirSync(into).filter((name) => /unfinished|restoring/.test(name))).toEqual([]);
    },
  );

  it('that fails when the log is already aside puts it back', async () => {
    const home = await leftByAKill(order().file);
    const before = readdirSync(home);
    const ended = restoreBackup(order({ into: home, replace: true }), (name) => {
      if (name === 'restore.aside') throw new Error('ended here');
    });
    await expect(ended).rejects.toMatchObject({ message: expect.stringContaining('ended here') });
    expect(readdirSync(home).filter((name) => !name.endsWith('.lock'))).toEqual(before);
    expect(lastSaleIn(join(home, 'puente.db'))).toBe('told to a till');
    await rm(home, { recursive: true });
  });

  it.each(['restore.aside', 'restore.in_place'])(
    'that is killed at %s is refused by every start until it is repeated, and the older log stays with its database [F60]',
    async (point) => {
      const home = await leftByAKill(order().file);
      const killed = await mkdtemp(join(tmpdir(), 'puente-restore-killed-'));
      // Copies the folder at that moment, as a kill would leave it.
      await restoreBackup(order({ into: home, replace: true }), (name) => {
        if (name === point) cpSync(home, killed, { recursive: true });
      });
      await expect(openShop({ PUENTE_DATA_DIR: killed })).rejects.toMatchObject({
        code: 'store_unusable',
        message: expect.stringMatching(
          /a restore into it was cut off\. Repeat it: puente restore .*puente\.db\.replaced-/,
        ),
      });
      const told = offlineFindings(examineFile(join(killed, 'puente.db')));
      expect(told).toMatchObject([
        { level: 'problem', says: expect.stringContaining('a restore into it was cut off') },
      ]);
      const done = await restoreBackup(order({ into: killed, replace: true }));
      expect(lastSaleIn(done.path)).toBeUndefined();
      expect(lastSaleIn(done.moved_to ?? '')).toBe('told to a till');
      const asides = readdirSync(killed).filter((name) => /replaced-\w+$/.test(name));
      expect(asides).toHaveLength(1);
      expect(examineFile(done.path)).toMatchObject({ wrong: null, integrity: 'ok' });
      await Promise.all([home, killed].map((one) => rm(one, { recursive: true })));
    },
  );

  it('that is killed before there was any database lets no start make an empty one', async () => {
    const home = await mkdtemp(join(tmpdir(), 'puente-restore-new-'));
    const killed = await mkdtemp(join(tmpdir(), 'puente-restore-killed-'));
    await restoreBackup(order({ into: home }), (name) => {
      if (name === 'restore.aside') cpSync(home, killed, { recursive: true });
    });
    await expect(openShop({ PUENTE_DATA_DIR: killed })).rejects.toMatchObject({ code: 'store_unusable' });
    expect(existsSync(join(killed, 'puente.db'))).toBe(false);
    expect((await restoreBackup(order({ into: killed }))).moved_to).toBeNull();
    await Promise.all([home, killed].map((one) => rm(one, { recursive: true })));
  });

  it('is refused for a database that a killed process left, whose log is a part of it', async () => {
    const left = join(into, 'left.db');
    writeFileSync(left, readFileSync(order().file));
    writeFileSync(`${left}-wal`, 'the last commits');
    await expect(restoreBackup(order({ file: left, replace: true }))).rejects.toMatchObject({
      message: expect.stringContaining('a write-ahead log is beside it'),
    });
  });
});
