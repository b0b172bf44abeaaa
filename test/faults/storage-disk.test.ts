/** A disk that is nearly full, full, locked or read for very long: what is refused, what continues, how it recovers. */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Room } from '../../src/proxy/records/upkeep.ts';
import type { BeginWriter } from '../../src/store/sqlite/group-commit.ts';
import { beginWriter } from '../engines/writer-threads.ts';
import { call, eventually } from '../kit.ts';
import { closing, openForAll, openForEach } from '../open.ts';
import { FAST, idOf, legacyErrorOf, openShop, type Shop } from '../proxy/http/till.ts';
import { MERCHANT, NOON, opened } from '../store/contract/harness.ts';
import { newFolder, openStore } from '../store/sqlite/kit.ts';

const MIB = 1024 * 1024;

const ran = (program: string, ...words: string[]): boolean => spawnSync(program, words).status === 0;

const levelOf = async (shop: Shop): Promise<unknown> =>
  ((await call(`${shop.app.ops_url}/readyz`)).body as { disk?: unknown }).disk; // shape of the answer

/** An unsigned event of an unknown order: accepted as a hint where there is room. */
const tellEvent = (shop: Shop) =>
  call(`${shop.app.public_url}/webhooks/orders`, {
    body: { type: 'order', action: 'order.processed', data: { id: `ORD${'0'.repeat(26)}` } },
  });

/** A new sale is refused in the legacy error shape, before any row or upstream call. */
async function expectRefused(shop: Shop): Promise<void> {
  const device = shop.freshDevice();
  const answer = await shop.create(device);
  expect(answer.status).toBe(503);
  expect(legacyErrorOf(answer).message).toContain('nothing was charged');
  expect(shop.rows(device)).toEqual([]);
  expect(await shop.orders(device)).toEqual([]);
}

describe('a disk that is nearly full', () => {
  let free_bytes = 1_000 * MIB;
  const shop = openForAll(() => openShop({}, { free_bytes: async () => free_bytes }));

  it('refuses new sales before anything is written, finishes those under way, and recovers by itself [F45]', async () => {
    const [open, repeated] = [shop.freshDevice(), shop.freshDevice()];
    const sale = idOf(await shop.create(open));
    const told = await shop.create(repeated);
    expect(await levelOf(shop)).toBe('enough');
    free_bytes = 63 * MIB;
    await eventually(
      () => levelOf(shop),
      (level) => level === 'low',
    );
    await expectRefused(shop);
    expect((await shop.create(repeated)).body).toEqual(told.body);
    expect((await tellEvent(shop)).status).toBe(200);
    await shop.atTerminal('pay', { device: open });
    const read = await eventually(
      () => shop.read(sale),
      ({ body }) => (body as { state?: string }).state === 'FINISHED',
    );
    const payment = (read.body as { payment: { id: string } }).payment.id; // a finished intent names its payment
    const refund = await shop.till(`/v1/payments/${payment}/refunds`, { method: 'POST', body: {} });
    expect([refund.status, (await shop.requests('/v1/orders')).filter(({ path }) => path.endsWith('/refund'))]).toEqual(
      [503, []],
    );
    const metrics = (await call(`${shop.app.ops_url}/metrics`)).text;
    expect(metrics).toMatch(/^puente_disk_level 1$/m);
    expect(metrics).toMatch(/^puente_creates_total\{outcome="no_room"\} 2$/m);
    free_bytes = 1_000 * MIB;
    await eventually(
      () => levelOf(shop),
      (level) => level === 'enough',
    );
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
    expect((await shop.till(`/v1/payments/${payment}/refunds`, { method: 'POST', body: {} })).status).toBe(201);
  });

  it('is not brought about by a backup: one that would take the room of new sales is not begun', async () => {
    free_bytes = 64 * MIB + 4_096;
    const refused = await shop.ops('/api/backup', { method: 'POST', body: {} });
    expect([refused.status, refused.body]).toMatchObject([
      503,
      { error: 'store_failed', message: expect.stringMatching(/it takes \d+ KiB, and 4.0 KiB may be taken/) },
    ]);
    expect(readdirSync(join(shop.data_dir, 'backups'))).toEqual([]);
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
    free_bytes = 1_000 * MIB;
    expect((await shop.ops('/api/backup', { method: 'POST', body: {} })).text).toContain('"news":"done"');
  });

  it('keeps evidence waiting, and writes it when there is room again', async () => {
    const exchanges = async (id: string): Promise<number> => {
      using database = closing(new Database(join(shop.data_dir, 'puente.db'), { readonly: true }));
      return database.prepare<[string]>('SELECT 1 FROM exchanges WHERE legacy_id = ?').all(id).length;
    };
    const sale = idOf(await shop.create(shop.freshDevice()));
    await eventually(
      () => exchanges(sale),
      (count) => count === 1,
    );
    free_bytes = 63 * MIB;
    await eventually(
      () => levelOf(shop),
      (level) => level === 'low',
    );
    expect((await shop.read(sale)).status).toBe(200);
    free_bytes = 1_000 * MIB;
    await eventually(
      () => exchanges(sale),
      (count) => count === 2,
    );
  });
});

describe('a full disk', () => {
  const directory = mkdtempSync(join(tmpdir(), 'puente-small-disk-'));
  const mounted = ran('mount', '-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', directory);
  const filler = join(directory, 'filler');
  let pretended_bytes = 1_000 * MIB;
  let shop: Shop;
  beforeAll(async () => {
    const settings = {
      PUENTE_DATA_DIR: join(directory, 'data'),
      PUENTE_STORE_LOW_BYTES: String(6 * MIB),
      PUENTE_STORE_BALLAST_BYTES: String(4 * MIB),
    };
    shop = await openShop(settings, mounted ? {} : { free_bytes: async () => pretended_bytes });
  });
  afterAll(async () => {
    await shop.close();
    if (mounted) ran('umount', directory);
    rmSync(directory, { recursive: true, force: true });
  });

  /** Fills the disk where a file system can be mounted; otherwise sets `free_bytes` to 0 and removes the reserve. */
  function fill(): void {
    if (!mounted) {
      process.stdout.write('no file system can be mounted here: the full disk is told to the watch instead\n');
      pretended_bytes = 0;
      unlinkSync(ballast());
      return;
    }
    const handle = openSync(filler, 'w');
    try {
      for (;;) writeSync(handle, Buffer.alloc(65_536));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    } finally {
      closeSync(handle);
    }
  }
  const ballast = (): string => join(shop.data_dir, 'puente.db.ballast');

  it('finishes the sales under way on the reserve, sends nothing new, serves reads, and recovers [F44]', async () => {
    const device = shop.freshDevice();
    const sale = idOf(await shop.create(device));
    await eventually(
      async () => existsSync(ballast()),
      (is_there) => is_there,
    );
    fill();
    await eventually(
      () => levelOf(shop),
      (level) => level !== 'enough',
    );
    await expectRefused(shop);
    await shop.atTerminal('pay', { device });
    await eventually(
      () => shop.read(sale),
      ({ body }) => (body as { state?: string }).state === 'FINISHED',
    );
    expect(shop.rows(device)).toMatchObject([{ legacy_id: sale, state: 'DONE' }]);
    expect(existsSync(ballast())).toBe(false);
    await eventually(
      () => levelOf(shop),
      (level) => level === 'full',
    );
    expect((await tellEvent(shop)).status).toBe(503);
    await expectRefused(shop);
    if (mounted) unlinkSync(filler);
    else pretended_bytes = 1_000 * MIB;
    await eventually(
      () => levelOf(shop),
      (level) => level === 'enough',
    );
    await eventually(
      async () => existsSync(ballast()),
      (is_there) => is_there,
    );
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
    expect((await tellEvent(shop)).status).toBe(200);
  });

  it('does not refuse a start, which takes the reserve [F44]', async ({ skip }) => {
    skip(!mounted, 'no file system can be mounted here');
    const path = join(directory, 'again.db');
    const disk = { low_bytes: 6 * MIB, ballast_bytes: 4 * MIB, log_limit_bytes: 64 * MIB };
    const store = await openStore(path, { disk });
    const link = await opened(store);
    await eventually(
      async () => existsSync(`${path}.ballast`),
      (is_there) => is_there,
    );
    await store.close();
    fill();
    const again = await openStore(path, { disk, create: false });
    expect(await again.links.link(link.legacy_id)).toEqual(link);
    expect(again.upkeep.room().level).toBe('full');
    await again.close();
    unlinkSync(filler);
  });
});

describe('another process that holds the write lock', () => {
  const shop = openForEach(() => openShop());

  it('stops sales before anything is sent, and only while it holds the lock [F43]', async () => {
    const known = shop.freshDevice();
    const sale = idOf(await shop.create(known));
    const intruder = new Database(join(shop.data_dir, 'puente.db'));
    intruder.exec('BEGIN IMMEDIATE');
    await expectRefused(shop);
    expect((await shop.read(sale)).status).toBe(200);
    expect((await tellEvent(shop)).status).toBe(503);
    intruder.exec('ROLLBACK');
    intruder.close();
    await eventually(
      async () => (await call(`${shop.app.ops_url}/readyz`)).status,
      (status) => status === 200,
    );
    expect((await shop.create(shop.freshDevice())).status).toBe(201);
  });

  it('does not merge two sales: an outcome that the till read meanwhile counts as read [F43]', async () => {
    const device = shop.freshDevice();
    const first = idOf(await shop.create(device));
    await shop.atTerminal('pay', { device });
    await eventually(
      async () => shop.rows(device),
      ([row]) => row?.state === 'DONE',
    );
    const intruder = new Database(join(shop.data_dir, 'puente.db'));
    intruder.exec('BEGIN IMMEDIATE');
    expect((await shop.read(first)).body).toMatchObject({ state: 'FINISHED' });
    intruder.exec('ROLLBACK');
    intruder.close();
    const second = await shop.create(device);
    expect(second.status).toBe(201);
    expect(idOf(second)).not.toBe(first);
    expect(await shop.orders(device)).toHaveLength(2);
  });
});

describe('a store that can only be read', () => {
  const shop = openForAll(() => openShop({ PUENTE_RECONCILE_POINT_INTERVAL_MS: '200' }));

  it('does not make Puente ask upstream again and again for what it can not store [F43 F44]', async () => {
    for (let sale = 0; sale < 6; sale++) expect((await shop.create(shop.freshDevice())).status).toBe(201);
    const readyz = async () => (await call(`${shop.app.ops_url}/readyz`)).status;
    const reads = async () => (await shop.requests('/v1/orders/')).length;
    const intruder = new Database(join(shop.data_dir, 'puente.db'));
    intruder.exec('BEGIN IMMEDIATE');
    await eventually(readyz, (status) => status === 503);
    await pause(500);
    const before = await reads();
    await pause(2_000);
    expect(await reads()).toBe(before);
    intruder.exec('ROLLBACK');
    intruder.close();
    await eventually(reads, (count) => count >= before + 6);
  });
});

describe('a disk that takes long', () => {
  let delay_ms = 0;
  const slowly: BeginWriter = (setup) => {
    const thread = beginWriter(setup);
    const post = thread.postMessage.bind(thread);
    thread.postMessage = (message) => void (delay_ms === 0 ? post(message) : setTimeout(post, delay_ms, message));
    return thread;
  };
  const shop = openForAll(() => openShop({}, { beginWriter: slowly }));

  it('sends no cancel whose till stopped waiting while it was noted, and says that it can be repeated [F49]', async () => {
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    expect((await shop.read(id)).status).toBe(200);
    delay_ms = Number(FAST.PUENTE_CREATE_DEADLINE_MS) + 200;
    const late = shop.cancel(device, id);
    await pause(Number(FAST.PUENTE_CREATE_DEADLINE_MS));
    delay_ms = 0;
    expect((await late).status).toBe(502);
    expect(await shop.orders(device)).toMatchObject([{ status: 'created' }]);
    expect((await shop.cancel(device, id)).status).toBe(200);
  });
});

function tokenOfSize(number: number, bytes: number) {
  return {
    fingerprint: `token ${number}`,
    merchant_id: MERCHANT,
    sealed_token: new Uint8Array(bytes),
    accepted_until: NOON,
    seen_at: NOON,
  };
}

describe('a long reader', () => {
  it('can not make the log grow unnoticed: the growth is reported, and the log is emptied once the reader ends [F62]', async () => {
    const folder = newFolder();
    const path = folder.file('puente.db');
    const seen: Room[] = [];
    const disk = { low_bytes: 0, ballast_bytes: 0, log_limit_bytes: 300_000 };
    const store = await openStore(path, { disk, onRoom: (room) => seen.push(room) });
    const reader = new Database(path, { readonly: true });
    try {
      await store.merchants.acceptToken(tokenOfSize(0, 100_000), 'MLA');
      const reading = reader.prepare('SELECT fingerprint FROM tokens').iterate();
      reading.next();
      for (let number = 1; number < 12; number++) await store.merchants.acceptToken(tokenOfSize(number, 100_000), null);
      await eventually(
        async () => seen.length,
        (changes) => changes === 1,
      );
      expect(seen[0]).toMatchObject({ level: 'enough', is_log_large: true });
      expect(statSync(`${path}-wal`).size).toBeGreaterThan(disk.log_limit_bytes);
      reading.return?.();
      await eventually(
        async () => seen.length,
        (changes) => changes === 2,
      );
      expect(seen[1]).toMatchObject({ is_log_large: false });
      expect(statSync(`${path}-wal`).size).toBeLessThan(disk.log_limit_bytes);
      expect((await store.merchants.token('token 11'))?.sealed_token.length).toBe(100_000);
    } finally {
      reader.close();
      await store.close();
      folder.remove();
    }
  });

  it('of our own never holds the log: after writes of many times its limit, the log is within it [F62]', async () => {
    const folder = newFolder();
    const path = folder.file('puente.db');
    const disk = { low_bytes: 0, ballast_bytes: 0, log_limit_bytes: 32 * MIB };
    const seen: Room[] = [];
    const store = await openStore(path, { disk, onRoom: (room) => seen.push(room) });
    try {
      await store.merchants.acceptToken(tokenOfSize(0, 100), 'MLA');
      let largest = 0;
      let written = 0;
      for (let number = 1; written < 3 * disk.log_limit_bytes; number++) {
        const reading = store.merchants.token('token 0');
        await store.merchants.acceptToken(tokenOfSize(number, MIB), null);
        written += MIB;
        largest = Math.max(largest, statSync(`${path}-wal`).size);
        expect((await reading)?.fingerprint).toBe('token 0');
      }
      expect(largest).toBeLessThan(disk.log_limit_bytes);
      expect(seen).toEqual([]);
    } finally {
      await store.close();
      folder.remove();
    }
  });

  it('of another process lets the log fill the disk: new sales are refused before it is full [F62 F45]', async () => {
    const folder = newFolder();
    const path = folder.file('puente.db');
    const wal = (): number => (existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0);
    const seen: Room[] = [];
    const disk = {
      low_bytes: MIB,
      ballast_bytes: 0,
      log_limit_bytes: MIB,
      free_bytes: async () => 4 * MIB - wal(),
    };
    const store = await openStore(path, { disk, onRoom: (room) => seen.push(room) });
    const reader = new Database(path, { readonly: true });
    try {
      await store.merchants.acceptToken(tokenOfSize(0, 100), 'MLA');
      const reading = reader.prepare('SELECT fingerprint FROM tokens').iterate();
      reading.next();
      for (let number = 1; number <= 7; number++) await store.merchants.acceptToken(tokenOfSize(number, MIB / 2), null);
      await eventually(
        async () => store.upkeep.room(),
        ({ level, is_log_large }) => level === 'low' && is_log_large,
      );
      reading.return?.();
      await eventually(
        async () => store.upkeep.room(),
        ({ level, is_log_large }) => level === 'enough' && !is_log_large,
      );
      expect(wal()).toBeLessThan(disk.log_limit_bytes);
    } finally {
      reader.close();
      await store.close();
      folder.remove();
    }
  });
});
