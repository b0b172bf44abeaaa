/** A file of the second schema, brought to today's: nothing that was in it is lost, and its history starts now. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUDIT_GENESIS, chainHash, verifyAudit } from '../../../src/proxy/audit.ts';
import { merchantSettings } from '../../../src/proxy/routing/merchant.ts';
import { APPLICATION_ID, MIGRATIONS_DIRECTORY } from '../../../src/store/sqlite/file.ts';
import { auditOf, MERCHANT, NOON, newLink, newMerchant, newSale, orderId, TERMINAL } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

const order = { id: orderId(1), status: 'at_terminal' };
const link = newLink({
  legacy_id: 'intent-live',
  held: {},
  sealed_body: null,
  state: 'LIVE',
  order_id: order.id,
  order,
  legacy_state: 'ON_TERMINAL',
  updated_at: NOON + 7,
  revision: 3,
});
const refund = {
  id: 'refund-1',
  number: 7,
  legacy_id: link.legacy_id,
  merchant_id: MERCHANT,
  payment_id: '1000',
  client_key: null,
  fingerprint: 'f',
  amount_minor: null,
  refunded_before_minor: 0,
  idempotency_key: 'key-1',
  state: 'IN_DOUBT',
  upstream_id: null,
  reference_id: null,
  refunded_minor: null,
  upstream_status: null,
  told_at: null,
  created_at: NOON,
  updated_at: NOON,
  revision: 1,
} as const;

describe('a file of the second schema', () => {
  let folder: Folder;
  let path: string;
  beforeEach(() => {
    folder = newFolder();
    path = folder.file('puente.db');
    writeSecondSchema(path);
  });
  afterEach(() => folder.remove());

  it('keeps its links and refunds, and knows of a link at least where it stands [F55]', async () => {
    const store = await openStore(path, { create: false, now: () => NOON });
    try {
      expect(await store.links.link(link.legacy_id)).toEqual(link);
      expect(await store.refunds.refunds(link.legacy_id)).toEqual([{ ...refund, heard_at: null }]);
      const present = { at: NOON + 7, state: 'LIVE', legacy_state: 'ON_TERMINAL', order_status: 'at_terminal' };
      expect(await store.history.linkHistory(link.legacy_id)).toEqual([present]);
      await store.links.saveLink(link, { state: 'DONE', legacy_state: 'FINISHED', updated_at: NOON + 9 });
      expect(await store.history.linkHistory(link.legacy_id)).toEqual([
        { at: NOON + 9, state: 'DONE', legacy_state: 'FINISHED', order_status: 'at_terminal' },
      ]);
    } finally {
      await store.close();
    }
  });

  it('keeps its terminals: one that is busy on orders takes nothing on legacy', async () => {
    const store = await openStore(path, { create: false, now: () => NOON });
    try {
      expect(await store.legacy_sales.openLegacySale(newSale())).toEqual(link);
      expect(await store.legacy_sales.heldByLegacy(MERCHANT, `point:${TERMINAL}`, NOON)).toBeNull();
      expect(await store.history.liveLinks(MERCHANT, 9)).toEqual([link]);
      expect(await store.history.linksChangedSince(NOON + 7, null, 9)).toEqual([link]);
    } finally {
      await store.close();
    }
  });

  it('keeps its merchants: no safety stop stands, and new settings have their defaults', async () => {
    const store = await openStore(path, { create: false, now: () => NOON });
    try {
      const merchant = await store.merchants.merchant(MERCHANT);
      expect(merchant).toMatchObject({ site: 'MLA', trips: {}, revision: 4 });
      expect(merchant?.settings).toEqual(merchantSettings.parse({ stage: 'orders', qr_notices: 'both' }));
    } finally {
      await store.close();
    }
  });

  it('keeps its audit chain whole, and goes on with it', async () => {
    const store = await openStore(path, { create: false, now: () => NOON });
    try {
      await store.merchants.saveMerchant(newMerchant(), 4, auditOf('moved'));
      const lines = await store.audit.auditsAfter(0, 9);
      expect(lines.map(({ action }) => action)).toEqual(['first', 'second', 'moved']);
      expect(verifyAudit(lines)).toEqual({ intact: true, lines: 3 });
      expect(await store.audit.auditsOf({ subject: MERCHANT, action: 'second' }, 9)).toEqual([lines[1]]);
      expect((await store.events.unmatchedEvents(9)).map(({ sequence }) => sequence)).toEqual([1]);
      expect((await store.events.eventsOf(order.id, null, 9)).map(({ sequence }) => sequence)).toEqual([1]);
    } finally {
      await store.close();
    }
  });
});

/** The first two migrations run as their releases ran them, and rows as they wrote them. */
function writeSecondSchema(path: string): void {
  const database = new Database(path);
  for (const name of ['001_first.sql', '002_qr.sql']) {
    database.exec(readFileSync(join(MIGRATIONS_DIRECTORY, name), 'utf8'));
  }
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma('user_version = 2');
  insert(database, 'meta', { name: 'instance_id', value: 'i' });
  const settings = '{"stage":"orders","qr_notices":"both"}';
  insert(database, 'merchants', { id: MERCHANT, site: 'MLA', settings, revision: 4, updated_at: NOON });
  const { held, order: known, acknowledged_at: _acknowledged_at, heard_by: _heard_by, ...columns } = link;
  insert(database, 'links', { ...columns, held: JSON.stringify(held), order_json: JSON.stringify(known) });
  insert(database, 'refunds', refund);
  insert(database, 'events', {
    received_at: NOON,
    order_id: order.id,
    verified: 1,
    action: 'order.processed',
    state: 'parked',
    attempts: 0,
    next_attempt_at: NOON,
  });
  let previous = AUDIT_GENESIS;
  for (const [index, action] of ['first', 'second'].entries()) {
    const line = { ...auditOf(action, { before: 'legacy' }), sequence: index + 1 };
    previous = chainHash(previous, line);
    insert(database, 'audit', { ...line, detail: JSON.stringify(line.detail), hash: previous });
  }
  database.close();
}

function insert(database: Database.Database, table: string, row: Record<string, unknown>): void {
  const columns = Object.keys(row);
  const values = columns.map((column) => `@${column}`);
  database.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`).run(row);
}
