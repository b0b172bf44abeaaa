/**
 * The store covers texts that must not be kept in clear: reads are unchanged, files show nothing of them, and an older
 * file is covered when it is opened (F134).
 */
import { createSecretKey } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/ops/ports.ts';
import type { NewNotice } from '../../src/proxy/records/notices.ts';
import type { LegacySale } from '../../src/proxy/records/routing.ts';
import type { Link } from '../../src/proxy/sales/link.ts';
import { APPLICATION_ID, MIGRATIONS_DIRECTORY } from '../../src/store/sqlite/file.ts';
import {
  MERCHANT,
  MINUTE_MS,
  NOON,
  newEvent,
  newLink,
  newNotice,
  newSale,
  orderId,
} from '../store/contract/harness.ts';
import { type Folder, newFolder, openStore } from '../store/sqlite/kit.ts';
import { searchFor } from './canary-search.ts';

const CARD = '5031755734530604';
const GROUPED = 'Mesa 4, 5031 7557 3453 0604';
const TOKEN = 'APP_USR-4004001-112026-c0ffeec0ffeec0ffeec0ffeec0ffee77-700100200';
const leaks = searchFor({ card: CARD, grouped: '5031 7557 3453 0604', token: TOKEN });
const cover_key = createSecretKey(Buffer.alloc(32, 9));

let folder: Folder;
let store: Store | null = null;
beforeEach(() => {
  folder = newFolder();
});
afterEach(async () => {
  await store?.close();
  store = null;
  folder.remove();
});

async function open(key = cover_key): Promise<Store> {
  await store?.close();
  store = null;
  store = await openStore(folder.file('puente.db'), { cover_key: key, now: () => NOON });
  return store;
}

/** Leaks in the database's files; a copy from before an upgrade is not searched, since the older build wrote it. */
function leaksOnDisk(): string[] {
  const directory = join(folder.file('puente.db'), '..');
  const files = readdirSync(directory).filter((name) => /^puente\.db(-wal|-shm)?$/.test(name));
  expect(files).toContain('puente.db');
  return files.flatMap((name) => leaks(readFileSync(join(directory, name))));
}

const order = { id: orderId(1), status: 'created', external_reference: CARD, description: GROUPED } as Link['order']; // the fields read here

function saying(reference: string, change: Partial<Link> = {}): Link {
  const held = { additional_info: { external_reference: reference, note: TOKEN }, description: GROUPED };
  return newLink({ client_reference: reference, reference_sent: CARD, held, ...change });
}

describe('a card number that is written now', () => {
  it('is found by its exact text, is read back as it was sent, and is not in the file [F134]', async () => {
    const now = await open();
    const link = saying(GROUPED);
    await now.links.openLink(link, () => ({ kind: 'open' }));
    const event = newEvent({ order_id: null, reference: CARD });
    await now.events.receiveEvent(event);
    await now.events.receiveEvent(event);
    const due = await now.events.dueEvents(NOON, 9);
    expect(due, 'equal hints are one').toMatchObject([{ reference: CARD }]);
    await now.events.saveEvent(due[0]?.sequence ?? 0, { state: 'parked' });
    const notice: NewNotice = newNotice(link, JSON.stringify({ note: GROUPED }));
    const live = await now.links.saveLink(link, { state: 'LIVE', order, order_id: orderId(1) }, { notices: [notice] });
    expect(await now.events.dueEvents(NOON, 9), 'the link that has the reference wakes the event').toHaveLength(1);
    const sale = newSale({ unit: 'PAX_A910__2', client_reference: CARD });
    await now.legacy_sales.openLegacySale(sale);
    const again = await open();
    expect(await again.links.link(link.legacy_id)).toEqual(live);
    expect(await again.links.linkByReference(MERCHANT, CARD)).toEqual(live);
    expect(await again.history.linksByClientReference(MERCHANT, GROUPED, 9)).toEqual([live]);
    expect(await again.history.listLinks({ reference: GROUPED, now: NOON }, null, 9)).toMatchObject({ rows: [live] });
    expect(await again.history.linksOf(MERCHANT, NOON, NOON + 1, 9)).toEqual([live]);
    expect(await again.legacy_sales.legacySalesByReference(MERCHANT, CARD, 9)).toMatchObject([
      { id: sale.id, client_reference: CARD },
    ]);
    expect(await again.legacy_sales.listLegacySales({ reference: CARD, now: NOON }, null, 9)).toMatchObject({
      rows: [{ id: sale.id, client_reference: CARD }],
    });
    expect(await again.events.eventsOf(null, CARD, 9)).toMatchObject([{ reference: CARD }]);
    expect(await again.notices.dueNotices(NOON + MINUTE_MS, 9)).toMatchObject([{ body: notice.body }]);
    expect(await again.history.linkHistory(link.legacy_id)).toMatchObject([
      { order_status: null },
      { order_status: 'created' },
    ]);
    expect(leaksOnDisk()).toEqual([]);
    await again.close();
    store = null;
    expect(leaksOnDisk()).toEqual([]);
    await expect(
      open(createSecretKey(Buffer.alloc(32, 1))).then((other) => other.links.link(link.legacy_id)),
    ).rejects.toThrow(/PUENTE_SECRET_KEY/);
  });
});

describe('a card number that an older build wrote in clear', () => {
  it('is encrypted by the first start, and is found and read as before [F134]', async () => {
    const spoken = saying(CARD, { state: 'LIVE', order, order_id: orderId(1) });
    const plain = newLink({ unit: 'PAX_A910__3', client_reference: 'Mesa 5' });
    const sale = newSale({ unit: 'PAX_A910__2', client_reference: GROUPED });
    const notice = newNotice(spoken, JSON.stringify({ note: CARD }));
    writeFourthSchema([spoken, plain], sale, notice);
    expect(leaksOnDisk().length).toBeGreaterThan(0);
    const now = await open();
    expect(await now.history.linksByClientReference(MERCHANT, CARD, 9)).toMatchObject([
      { legacy_id: spoken.legacy_id, client_reference: CARD, reference_sent: CARD, held: spoken.held, order },
    ]);
    expect(await now.links.linkByReference(MERCHANT, CARD)).toMatchObject({ legacy_id: spoken.legacy_id });
    expect(await now.history.linksByClientReference(MERCHANT, 'Mesa 5', 9)).toMatchObject([{ held: plain.held }]);
    expect(await now.legacy_sales.legacySalesByReference(MERCHANT, GROUPED, 9)).toMatchObject([{ id: sale.id }]);
    expect(await now.notices.dueNotices(NOON + MINUTE_MS, 9)).toMatchObject([{ body: notice.body }]);
    await now.close();
    store = null;
    expect(leaksOnDisk()).toEqual([]);
  });
});

/** Writes a store as the fourth migration and its build left it. */
function writeFourthSchema(links: Link[], sale: LegacySale, notice: NewNotice): void {
  const database = new Database(folder.file('puente.db'));
  for (const name of readdirSync(MIGRATIONS_DIRECTORY).sort().slice(0, 4))
    database.exec(readFileSync(join(MIGRATIONS_DIRECTORY, name), 'utf8'));
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma('user_version = 4');
  const insert = (table: string, row: object): void => {
    const names = Object.keys(row);
    const values = names.map((name) => `@${name}`).join(', ');
    database.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${values})`).run(row);
  };
  insert('meta', { name: 'instance_id', value: 'i' });
  for (const { held, order: known, acknowledged_at: _later, known_by: _latest, ...rest } of links)
    insert('links', { ...rest, held: JSON.stringify(held), order_json: known === null ? null : JSON.stringify(known) });
  const { amount: _sum, end_state: _end, ...before } = sale; // columns of a later build
  insert('legacy_sales', before);
  insert('notices', { ...notice, id: 'n', sequence: 1, state: 'pending', is_next: 1, attempts: 0 });
  database.close();
}
