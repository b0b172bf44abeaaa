/** A file as the first release left it, brought to today's schema: nothing that was in it is lost. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringifyJson } from '../../../src/contract/json.ts';
import { APPLICATION_ID, MIGRATIONS_DIRECTORY } from '../../../src/store/sqlite/file.ts';
import { DAY_MS, MERCHANT, NOON, newLink, opened, orderId } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

/** What differs between the intents of the file; the last one has a reference that is no text. */
const intents = [
  {
    legacy_id: 'intent-open',
    state: 'LIVE',
    intent_state: 'ON_TERMINAL',
    unit: 'PAX_A910__1',
    reference: '"Pedido 7 · ñ"',
  },
  { legacy_id: 'intent-paid', state: 'DONE', intent_state: 'FINISHED', unit: 'PAX_A910__2', reference: '"Pedido 8"' },
  {
    legacy_id: 'intent-lost',
    state: 'LOST',
    intent_state: 'ABANDONED',
    unit: 'PAX_A910__2',
    reference: '12345678901234567890',
  },
] as const;
const held = (reference: string) => `{"additional_info":{"external_reference":${reference},"weight":1.50}}`;

describe('a file of the first schema', () => {
  let folder: Folder;
  let path: string;
  beforeEach(() => {
    folder = newFolder();
    path = folder.file('puente.db');
    writeFirstSchema(path);
  });
  afterEach(() => folder.remove());

  it('keeps its links, with the state that tills saw, and learns their slots and references [F55]', async () => {
    const store = await openStore(path, { create: false });
    try {
      const open = await store.links.link('intent-open');
      expect(open).toEqual({
        ...newLink(),
        legacy_id: 'intent-open',
        unit: 'PAX_A910__1',
        slot: 'point:PAX_A910__1',
        family: 'point',
        fingerprint: 'f',
        reference_sent: 'ref-intent-open',
        client_reference: 'Pedido 7 · ñ',
        held: open?.held,
        merchant_order_id: null,
        sealed_notice_url: null,
        sealed_body: new Uint8Array([1, 2, 250]),
        idempotency_key: 'key-intent-open',
        state: 'LIVE',
        attempts: 2,
        first_sent_at: NOON,
        client_answer: 'maybe',
        acknowledged_at: open?.created_at,
        order_id: orderId(0),
        order: { id: orderId(0), status: 'at_terminal' },
        order_version: '2026-01-05T12:00:00.000000000Z',
        payment_id: '1000',
        legacy_state: 'ON_TERMINAL',
        legacy_state_at: NOON + 5,
        expires_at: NOON + 900_000,
        next_check_at: NOON + 60_000,
        updated_at: NOON + 7,
        revision: 3,
      });
      expect(stringifyJson(open?.held)).toBe(held('"Pedido 7 · ñ"'));
      expect(await store.links.liveLink(MERCHANT, 'point:PAX_A910__1')).toEqual(open);
      expect(await store.links.linkByPayment('1000')).toEqual(open);
      expect(
        (await store.history.linksByClientReference(MERCHANT, 'Pedido 8', 9)).map((link) => link.legacy_id),
      ).toEqual(['intent-paid']);
      expect(await store.links.link('intent-lost')).toMatchObject({
        legacy_state: 'ABANDONED',
        client_reference: null,
      });
      expect(
        (await store.history.finishedLinks(MERCHANT, NOON, NOON + DAY_MS, 9)).map((link) => link.legacy_state),
      ).toEqual(expect.arrayContaining(['FINISHED', 'ABANDONED']));
      expect((await store.upkeep.counts()).links).toMatchObject({ LIVE: 1, DONE: 1, LOST: 1 });
    } finally {
      await store.close();
    }
  });

  it('keeps its terminals busy, and lets go of those that were free', async () => {
    const store = await openStore(path, { create: false });
    try {
      await expect(opened(store, { unit: 'PAX_A910__1' })).rejects.toMatchObject({ code: 'conflict' });
      expect((await opened(store, { unit: 'PAX_A910__2' })).unit).toBe('PAX_A910__2');
    } finally {
      await store.close();
    }
  });

  it('keeps what it still has to tell: the notice is about its intent, and goes on where it stood', async () => {
    const store = await openStore(path, { create: false });
    try {
      expect(await store.notices.dueNotices(NOON, 9)).toEqual([
        expect.objectContaining({
          id: 'notice-2',
          legacy_id: 'intent-paid',
          merchant_id: MERCHANT,
          topic: 'point',
          form: 'point',
          subject: 'intent-paid',
          sequence: 2,
          body: '{"state":"FINISHED"}',
          state: 'pending',
          attempts: 1,
          created_at: NOON,
          next_attempt_at: NOON,
        }),
      ]);
      expect(await store.upkeep.counts()).toMatchObject({ notices_pending: 1, events_waiting: 1 });
    } finally {
      await store.close();
    }
  });

  it('seals its notice URLs once, where it has the key: neither the file nor its log shows them then [F55]', async () => {
    const sealed: string[] = [];
    const sealNoticeUrl = (url: string): Uint8Array => {
      sealed.push(url);
      return Buffer.from(`sealed ${url.length}`);
    };
    for (let start = 0; start < 2; start++) {
      const store = await openStore(path, { create: false, sealNoticeUrl });
      expect(await store.merchants.merchant(MERCHANT)).toMatchObject({
        settings: { stage: 'orders', notice_url: null },
        sealed_notice_url: new Uint8Array(Buffer.from('sealed 23')),
        revision: 4,
      });
      await store.close();
    }
    expect(sealed).toEqual(['https://pos.example/ipn']);
    for (const suffix of ['', '-wal'])
      if (existsSync(path + suffix)) expect(readFileSync(path + suffix).includes('pos.example')).toBe(false);
  });

  it('keeps merchants, tokens, events and the audit', async () => {
    const store = await openStore(path, { create: false });
    try {
      expect(await store.merchants.merchant(MERCHANT)).toMatchObject({
        site: 'MLA',
        settings: { stage: 'orders', notice_url: 'https://pos.example/ipn' },
        sealed_notice_url: null,
        revision: 4,
      });
      expect(await store.merchants.token('fingerprint')).toEqual({
        fingerprint: 'fingerprint',
        merchant_id: MERCHANT,
        sealed_token: new Uint8Array([7, 7]),
        accepted_until: NOON + DAY_MS,
        seen_at: NOON,
      });
      expect(await store.events.dueEvents(NOON, 9)).toEqual([
        expect.objectContaining({ sequence: 1, order_id: orderId(0), verified: true, action: 'order.processed' }),
      ]);
      expect(await store.audit.audits(9)).toEqual([
        expect.objectContaining({ sequence: 1, who: 'ana', hash: 'a'.repeat(64) }),
      ]);
    } finally {
      await store.close();
    }
  });
});

/** The first migration run as the first release ran it, and rows as it wrote them. */
function writeFirstSchema(path: string): void {
  const database = new Database(path);
  database.exec(readFileSync(join(MIGRATIONS_DIRECTORY, '001_first.sql'), 'utf8'));
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma('user_version = 1');
  database.prepare("INSERT INTO meta VALUES ('instance_id', 'i')").run();
  database
    .prepare('INSERT INTO merchants VALUES (?, ?, ?, NULL, NULL, 4, ?)')
    .run(MERCHANT, 'MLA', '{"stage":"orders","notice_url":"https://pos.example/ipn"}', NOON);
  database
    .prepare('INSERT INTO tokens VALUES (?, ?, ?, ?, ?)')
    .run('fingerprint', MERCHANT, Buffer.from([7, 7]), NOON + DAY_MS, NOON);
  intents.forEach((intent, index) => void insertIntent(database, intent, index));
  const notice = database.prepare('INSERT INTO notices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  notice.run('notice-1', 'intent-paid', MERCHANT, 1, '{"state":"CANCELED"}', 'delivered', 0, 1, NOON, NOON);
  notice.run('notice-2', 'intent-paid', MERCHANT, 2, '{"state":"FINISHED"}', 'pending', 1, 1, NOON, NOON);
  database
    .prepare("INSERT INTO notice_attempts VALUES ('notice-1', ?, 12, 'delivered', 200, 'The receiver took it.')")
    .run(NOON);
  database
    .prepare("INSERT INTO events VALUES (1, ?, ?, 'ref-intent-open', ?, 1, 'order.processed', 'pending', 0, ?)")
    .run(NOON, orderId(0), MERCHANT, NOON);
  database
    .prepare("INSERT INTO audit VALUES (1, ?, 'ana', 'stage', ?, 'agreed', '{}', ?)")
    .run(NOON, MERCHANT, 'a'.repeat(64));
  database.close();
}

function insertIntent(database: Database.Database, intent: (typeof intents)[number], index: number): void {
  const { legacy_id, state, intent_state, unit, reference } = intent;
  const row = {
    legacy_id,
    merchant_id: MERCHANT,
    lane: 'orders',
    unit,
    client_key: null,
    fingerprint: 'f',
    reference_sent: `ref-${legacy_id}`,
    held: held(reference),
    amount_minor: 1500,
    idempotency_key: `key-${legacy_id}`,
    sealed_body: Buffer.from([1, 2, 250]),
    tables_revision: 'revision-1',
    state,
    attempts: 2,
    first_sent_at: NOON,
    boot_id: 'boot-1',
    client_answer: 'maybe',
    order_id: orderId(index),
    order_json: `{"id":"${orderId(index)}","status":"at_terminal"}`,
    order_version: '2026-01-05T12:00:00.000000000Z',
    payment_id: String(1000 + index),
    intent_state,
    intent_state_at: NOON + 5,
    cancel: null,
    expires_at: NOON + 900_000,
    next_check_at: NOON + 60_000,
    created_at: NOON,
    updated_at: NOON + 7,
    revision: 3,
  };
  const columns = Object.keys(row);
  database
    .prepare(`INSERT INTO links (${columns.join(', ')}) VALUES (${columns.map((column) => `@${column}`).join(', ')})`)
    .run(row);
}
